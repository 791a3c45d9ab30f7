package raftnode

import (
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// translator speaks the wire's side of the quorum for a node.
type translator struct {
	clusterID string
	listener  string // ours, on which peers are asked and which their answers mean
	log       *complaints
}

// maxClusterID bounds how much of a foreign cluster id is shown and remembered,
// in bytes. Ids that Kafka makes have 22.
const maxClusterID = 64

// sameCluster tells whether a request is meant for our cluster; one that names
// none is.
func (w translator) sameCluster(id *string) bool {
	if id == nil || *id == w.clusterID {
		return true
	}
	theirs := strings.Clone((*id)[:min(len(*id), maxClusterID)])
	w.log.warn(theirs, "a request of the quorum is for another cluster, and is refused", "for", theirs, "cluster", w.clusterID)
	return false
}

func isMetadata(topic string, partition int32) bool {
	return topic == kafka.MetadataTopic && partition == 0
}

// only gives the one topic and partition that a message of the quorum is about.
// A message with another number of them gives empty ones, which name nothing.
func only[T, P any](topics []T, partitions func(T) []P) (topic T, partition P) {
	if len(topics) != 1 {
		return topic, partition
	}
	all := partitions(topics[0])
	if len(all) != 1 {
		return topic, partition
	}
	return topics[0], all[0]
}

// addressed tells whether a request is meant for our cluster and asks for the
// metadata log, or the error of the whole request.
func (w translator) addressed(cluster *string, topic string, partition int32) kerr.Code {
	switch {
	case !w.sameCluster(cluster):
		return kerr.InconsistentClusterId
	case !isMetadata(topic, partition):
		return kerr.InvalidRequest
	}
	return kerr.None
}

// upper is how listener names are kept.
func upper(listener string) string { return strings.ToUpper(listener) }

// leaderAt is the leader's address on the listener a request came in on.
func leaderAt(from RequestInfo, h raft.Hint) (raft.Endpoint, bool) {
	if h.Leader < 0 {
		return raft.Endpoint{}, false
	}
	return h.Endpoints.Named(from.Listener)
}

// hint collects what an answer tells of the quorum.
type hint struct {
	raft.Hint
	listener string
}

func (w translator) hint(leader, epoch int32) hint {
	return hint{raft.Hint{Epoch: kafka.Epoch(epoch), Leader: kafka.NodeID(leader)}, w.listener}
}

// add notes the address of a node, if that is the leader. Answers name the
// address for the listener they were asked on, without its name.
func (h *hint) add(node int32, host string, port uint16) {
	if h.Leader >= 0 && int32(h.Leader) == node && host != "" {
		h.Endpoints = append(h.Endpoints, raft.Endpoint{Name: h.listener, Host: host, Port: port})
	}
}
