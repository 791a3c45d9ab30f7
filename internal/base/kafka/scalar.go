package kafka

import "time"

// Offset is a position in a log. Ranges are half-open: an "end" offset is one
// past the last record.
type Offset int64

// NoOffset marks an offset that is not known.
const NoOffset Offset = -1

// Epoch is a leader epoch: the term of a partition's or a quorum's leader.
type Epoch int32

// NoEpoch marks a leader epoch that is not known.
const NoEpoch Epoch = -1

// BrokerEpoch is the offset of the record that registered a broker; it tells
// one incarnation of a broker from the next.
type BrokerEpoch int64

// NoBrokerEpoch marks a broker that is not registered.
const NoBrokerEpoch BrokerEpoch = -1

// NodeID names a node: broker, controller or both.
type NodeID int32

// NoNode marks the absence of a node, for example a partition without leader.
const NoNode NodeID = -1

// PartitionID is the number of a partition within its topic.
type PartitionID int32

// ProducerID names an idempotent or transactional producer.
type ProducerID int64

// NoProducer marks a batch that carries no producer id.
const NoProducer ProducerID = -1

// Instant is a point of monotonic time: the time since an origin that the
// owner of the clock chose. Deciding rooms compare and add instants only.
type Instant time.Duration

// Never is later than every deadline.
const Never Instant = 1<<63 - 1

// Add returns the instant d after i; Never stays Never.
func (i Instant) Add(d time.Duration) Instant {
	if i == Never || d > time.Duration(Never-i) {
		return Never
	}
	return i + Instant(d)
}

// Sub returns the time from o to i.
func (i Instant) Sub(o Instant) time.Duration { return time.Duration(i - o) }

// TopicPartition names a partition by its topic's name.
type TopicPartition struct {
	Topic     string
	Partition PartitionID
}

// TopicIDPartition names a partition by its topic's id.
type TopicIDPartition struct {
	Topic     TopicID
	Partition PartitionID
}

// ReplicaKey names a voter or observer of the quorum: a node and, once known,
// the directory that holds its metadata log (KIP-853). A zero directory means
// "not known".
type ReplicaKey struct {
	Node NodeID
	Dir  DirID
}

// Matches tells whether other names the replica that k stands for: the node
// ids are equal, and k has no directory or the same one.
func (k ReplicaKey) Matches(other ReplicaKey) bool {
	return k.Node == other.Node && (k.Dir == DirID{} || k.Dir == other.Dir)
}
