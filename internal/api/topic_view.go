package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// noOperations is what stands in a response for authorized operations that
// were not asked for.
const noOperations = -1 << 31

// Operations without an authorizer: all that the resource type has, one bit for
// each of Kafka's operation numbers.
const (
	allTopicOperations   = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11
	allClusterOperations = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
)

// nodeIDs turns node ids into those of a response; never nil, as none of the
// fields they go to may be null.
func nodeIDs(nodes []kafka.NodeID) []int32 {
	ids := make([]int32, len(nodes))
	for i, n := range nodes {
		ids[i] = int32(n)
	}
	return ids
}

// offlineReplicas are the replicas that clients of a listener cannot use.
func offlineReplicas(img *image.Image, p *image.Partition, listener string) []int32 {
	ids := []int32{}
	for id := range img.Offline(p, listener) {
		ids = append(ids, int32(id))
	}
	return ids
}

// leaderOf tells who leads a partition as clients of a listener see it: a
// leader that is fenced or has no such listener is none to them. missing is the
// code for the latter.
func leaderOf(img *image.Image, p *image.Partition, listener string, missing kerr.Code) (kafka.NodeID, kerr.Code) {
	b, ok := img.Broker(p.Leader)
	if !ok {
		return kafka.NoNode, kerr.LeaderNotAvailable
	}
	if _, ok := b.Endpoint(listener); !ok || b.Fenced {
		return kafka.NoNode, missing
	}
	return p.Leader, kerr.None
}

// unknownTopic is the code for a name that no topic has.
func unknownTopic(name string) kerr.Code {
	if kafka.CheckTopicName(name) != nil {
		return kerr.InvalidTopicException
	}
	return kerr.UnknownTopicOrPartition
}
