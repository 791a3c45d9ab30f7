package batch

import (
	"encoding/binary"
	"fmt"
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
