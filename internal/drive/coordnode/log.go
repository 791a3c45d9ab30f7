package coordnode

import (
	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// Log is __consumer_offsets as its coordinators need it. A partition is only
// ever used in an epoch in which this node leads it; in another one the calls
// fail with NOT_LEADER_OR_FOLLOWER or a fencing error.
type Log interface {
	// Append appends one batch, as a producer with acks=-1 would. It may write
	// offsets and epoch into the batch, and keeps no reference to it. When it
	// returns nil, done is called once: with nil when the high watermark has
	// passed the batch, else with the reason why it may be lost. done may be
	// called before Append returns, and must not block.
	Append(p kafka.PartitionID, epoch kafka.Epoch, batch []byte, done func(error)) error
	// EndTransaction is Append of a transaction marker, sent under a
	// transaction.version.
	EndTransaction(p kafka.PartitionID, epoch kafka.Epoch, end batch.EndTxn, version int16, done func(error)) error
	// Committed calls done, like Append, once the high watermark has reached
	// end.
	Committed(p kafka.PartitionID, epoch kafka.Epoch, end kafka.Offset, done func(error))
	// Bounds tells where the log begins and ends.
	Bounds(p kafka.PartitionID, epoch kafka.Epoch) (start, end kafka.Offset, err error)
	// Read appends committed batches to dst, beginning with the one that holds
	// from: about maxBytes of them, the last one perhaps cut, but at least one
	// whole batch unless from is the high watermark.
	Read(p kafka.PartitionID, epoch kafka.Epoch, from kafka.Offset, maxBytes int, dst []byte) ([]byte, error)
	// MaxBatch is the largest batch, in bytes, that the partition takes.
	MaxBatch(p kafka.PartitionID) int
}
