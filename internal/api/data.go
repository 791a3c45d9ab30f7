package api

import (
	"cmp"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/throttle"
	"github.com/ottla/ottla/internal/edge/await"
)

// DataDeps is what the APIs about records need.
type DataDeps struct {
	Partitions *partitions.Manager
	Timers     *await.Timers
	Dirs       DirLister
	// ProducerIDs hands out ids of idempotent producers.
	ProducerIDs *ProducerIDs
	// FetchMaxBytes is fetch.max.bytes, SessionSlots
	// max.incremental.fetch.session.cache.slots.
	FetchMaxBytes, SessionSlots int
	// Quota bounds what leaders here send to throttled replicas.
	Quota *throttle.Quota
	// Verifier asks the coordinators of transactional producers.
	Verifier TxnVerifier
	// Groups end the transactions of partitions of __consumer_offsets.
	Groups TransactionEnder
	// MarkerLimit is how long the sender of a transaction marker waits for all
	// in-sync replicas (request.timeout.ms).
	MarkerLimit time.Duration
	// Metrics are counted in; nil: nobody looks.
	Metrics *Metrics
}

// DataRoutes are the APIs about records, in the order of their keys.
func DataRoutes(d DataDeps) []Route {
	d.Metrics = cmp.Or(d.Metrics, &Metrics{})
	return []Route{
		produce{d.Partitions, d.Timers, d.Verifier, d.Metrics}.route(),
		newFetch(d).route(),
		route(1, 11, listOffsets{d.Partitions}.serve),
		later(0, 2, deleteRecords{d.Partitions, d.Timers}.serve),
		later(0, 5, initProducerID{d.ProducerIDs}.serve),
		route(2, 4, offsetForLeaderEpoch{d.Partitions}.serve),
		later(1, 2, writeTxnMarkers{d.Partitions, d.Timers, d.Groups, d.MarkerLimit}.serve),
		route(1, 2, alterReplicaLogDirs{d.Partitions, d.Dirs}.serve),
		route(1, 5, describeLogDirs{d.Partitions, d.Dirs}.serve),
		route(0, 0, describeProducers{d.Partitions}.serve),
	}
}

// leaderHint is who leads a partition instead of us (KIP-951).
type leaderHint struct {
	node  kafka.NodeID
	epoch kafka.Epoch
}

// noHint is told where there is nothing to tell.
var noHint = leaderHint{kafka.NoNode, kafka.NoEpoch}

// hintFor tells who leads a partition, if the error says that we do not.
func hintFor(img *image.Image, id kafka.TopicIDPartition, err error) leaderHint {
	switch kerr.Of(err) {
	case kerr.NotLeaderOrFollower, kerr.FencedLeaderEpoch:
	default:
		return noHint
	}
	_, p, ok := img.PartitionByID(id)
	if !ok || p.Leader == kafka.NoNode {
		return noHint
	}
	return leaderHint{p.Leader, p.LeaderEpoch}
}

// hintNodes collects the brokers that hints name, each once, as reached through
// a listener.
type hintNodes struct {
	img      *image.Image
	listener string
	seen     []kafka.NodeID
}

// endpoint gives the address of a hinted leader the first time it is named.
func (h *hintNodes) endpoint(hint leaderHint) (*image.Broker, image.Endpoint, bool) {
	if hint.node == kafka.NoNode {
		return nil, image.Endpoint{}, false
	}
	for _, n := range h.seen {
		if n == hint.node {
			return nil, image.Endpoint{}, false
		}
	}
	h.seen = append(h.seen, hint.node)
	b, ok := h.img.Broker(hint.node)
	if !ok {
		return nil, image.Endpoint{}, false
	}
	e, ok := b.Endpoint(h.listener)
	return b, e, ok
}

// findPartition finds a replica by the topic's id where the request names ids,
// else by name.
func findPartition(m *partitions.Manager, byID bool, topic string, id kafka.TopicID, n int32) (*partitions.Partition, error) {
	if byID {
		return m.ByID(kafka.TopicIDPartition{Topic: id, Partition: kafka.PartitionID(n)})
	}
	return m.Named(kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(n)})
}

// topicIDOf gives a topic's id, also where a request names it.
func topicIDOf(img *image.Image, topic string, id kafka.TopicID) kafka.TopicID {
	if !id.IsZero() {
		return id
	}
	if t, ok := img.TopicNamed(topic); ok {
		return t.ID
	}
	return kafka.TopicID{}
}
