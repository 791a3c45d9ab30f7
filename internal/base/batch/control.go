package batch

import (
	"encoding/binary"
	"fmt"

	"github.com/ottla/ottla/internal/base/kafka"
)

// ControlType is what a control record says, the second half of its key.
type ControlType int16

// The control records of Kafka 4.4.
const (
	Abort ControlType = iota
	Commit
	LeaderChange
	SnapshotHeader
	SnapshotFooter
	KRaftVersion
	KRaftVoters
)

var controlNames = [...]string{
	"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS",
}

// String is Kafka's name of the type.
func (t ControlType) String() string {
	if t >= 0 && int(t) < len(controlNames) {
		return controlNames[t]
	}
	return fmt.Sprintf("CONTROL(%d)", int16(t))
}

// AppendControlKey writes the key of a control record: version 0, type.
func AppendControlKey(dst []byte, t ControlType) []byte {
	dst = binary.BigEndian.AppendUint16(dst, 0)
	return binary.BigEndian.AppendUint16(dst, uint16(t))
}

// ParseControlKey reads the key of a control record. Later versions of the key
// may be longer; the type stays where it is.
func ParseControlKey(key []byte) (ControlType, error) {
	if len(key) < 4 {
		return 0, fmt.Errorf("%w: control key of %d bytes", ErrCorrupt, len(key))
	}
	if v := int16(binary.BigEndian.Uint16(key)); v < 0 {
		return 0, fmt.Errorf("%w: control key version %d", ErrCorrupt, v)
	}
	return ControlType(binary.BigEndian.Uint16(key[2:])), nil
}

// AddControl appends a control record to a builder made with Options.Control.
func (b *Builder) AddControl(timestampMs int64, t ControlType, value []byte) {
	b.Add(timestampMs, AppendControlKey(nil, t), value)
}

// EndTxn is a transaction marker: how the transaction of a producer ends in a
// partition.
type EndTxn struct {
	Producer kafka.ProducerID
	Epoch    int16 // of the producer
	Commit   bool
	// Coordinator is the leader epoch of the coordinator's partition of
	// __transaction_state.
	Coordinator int32
	TimestampMs int64
	// AppendTime says that the topic gives its records the time of their append.
	AppendTime bool
}

// AppendEndTxn appends the control batch of a marker, byte by byte that of Apache
// Kafka. Offset and leader epoch are still to be set.
//
//	key    int16 version 0 | int16 0 ABORT, 1 COMMIT
//	value  int16 version 0 | int32 coordinator epoch
func AppendEndTxn(dst []byte, m EndTxn) []byte {
	opt := Options{
		LeaderEpoch: kafka.NoEpoch, Transactional: true, Control: true,
		Producer: &Producer{ID: m.Producer, Epoch: m.Epoch, Sequence: NoSequence},
	}
	if m.AppendTime {
		opt.AppendTime = &m.TimestampMs
	}
	kind := Abort
	if m.Commit {
		kind = Commit
	}
	b := NewBuilder(opt)
	b.AddControl(m.TimestampMs, kind, binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(m.Coordinator)))
	return b.Build(dst)
}
