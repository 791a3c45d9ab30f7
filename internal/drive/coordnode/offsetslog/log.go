// Package offsetslog is __consumer_offsets as the group coordinator uses it, over
// the partitions of a broker. It stands apart so that the coordinator itself
// knows nothing of how partitions are kept.
package offsetslog

import (
	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// Log implements coordnode.Log.
type Log struct{ partitions *partitions.Manager }

// Over makes the log over the partitions of a broker.
func Over(m *partitions.Manager) Log { return Log{m} }

func name(p kafka.PartitionID) kafka.TopicPartition {
	return kafka.TopicPartition{Topic: kafka.ConsumerOffsetsTopic, Partition: p}
}

// Append appends one batch; done is called when all in-sync replicas have it, or
// when that will not be known.
func (l Log) Append(p kafka.PartitionID, epoch kafka.Epoch, batch []byte, done func(error)) error {
	got, err := l.partitions.Append(name(p), epoch, batch)
	if err == nil {
		l.partitions.OnCommit(name(p), got, done)
	}
	return err
}

// EndTransaction appends a transaction marker, like Append.
func (l Log) EndTransaction(p kafka.PartitionID, epoch kafka.Epoch, end batch.EndTxn, version int16, done func(error)) error {
	got, err := l.partitions.EndTransaction(name(p), epoch, end, version)
	if err == nil {
		l.partitions.OnCommit(name(p), got, done)
	}
	return err
}

// Committed calls done when all in-sync replicas have everything below end.
func (l Log) Committed(p kafka.PartitionID, epoch kafka.Epoch, end kafka.Offset, done func(error)) {
	l.partitions.OnCommit(name(p), partitions.Appended{Epoch: epoch, End: end}, done)
}

// Bounds are the start and the end of the log.
func (l Log) Bounds(p kafka.PartitionID, epoch kafka.Epoch) (start, end kafka.Offset, err error) {
	part, err := l.partitions.Named(name(p))
	if err != nil {
		return 0, 0, err
	}
	switch s := part.Status(); {
	case s.Offline:
		return 0, 0, kerr.KafkaStorageError
	case s.Role != replica.Leading || s.LeaderEpoch != epoch:
		return 0, 0, kerr.NotLeaderOrFollower
	default:
		return s.LogStart, s.LogEnd, nil
	}
}

// Read appends committed batches to dst.
func (l Log) Read(p kafka.PartitionID, epoch kafka.Epoch, from kafka.Offset, maxBytes int, dst []byte) ([]byte, error) {
	dst, _, err := l.partitions.ReadBytes(dst, name(p), epoch, from, maxBytes)
	return dst, err
}

// MaxBatch is the topic's max.message.bytes.
func (l Log) MaxBatch(p kafka.PartitionID) int {
	part, err := l.partitions.Named(name(p))
	if err != nil {
		return defaultMaxBatch // the append will say what is wrong
	}
	return part.Policy().MaxMessageBytes
}

// defaultMaxBatch is Kafka's default of max.message.bytes.
const defaultMaxBatch = 1<<20 + 12
