package metarec

import (
	"encoding/binary"
	"fmt"
)

// ControlType tells what a control record says; it is the second half of the
// record's key.
type ControlType int16

// The types of control records. Abort and Commit have an EndTxnMarker as
// value, the others the message of their name.
const (
	ControlAbort ControlType = iota
	ControlCommit
	ControlLeaderChange
	ControlSnapshotHeader
	ControlSnapshotFooter
	ControlKRaftVersion
	ControlVoters
)

func (t ControlType) String() string {
	names := [...]string{"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS"}
	if t >= 0 && int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("UNKNOWN(%d)", int16(t))
}

// AppendControlKey appends the key of a control record: int16 version 0, int16
// type.
func AppendControlKey(dst []byte, t ControlType) []byte {
	return binary.BigEndian.AppendUint16(append(dst, 0, 0), uint16(t))
}

// AppendControlValue appends the value of a control record at a version. The
// bodies of quorum records begin with their version, which is set here; an
// EndTxnMarker is led by it. On an error dst comes back as it was.
func AppendControlValue(dst []byte, m Message, version int16) ([]byte, error) {
	switch m := m.(type) {
	case *LeaderChangeMessage:
		m.Version = version
	case *SnapshotHeaderRecord:
		m.Version = version
	case *SnapshotFooterRecord:
		m.Version = version
	case *KRaftVersionRecord:
		m.Version = version
	case *VotersRecord:
		m.Version = version
	case *EndTxnMarker:
		return appendVersioned(dst, m, version)
	default:
		return dst, fmt.Errorf("control value: %w: %s", ErrUnknownType, m.MessageName())
	}
	return m.AppendTo(dst, version)
}

// ReadControlKey reads the key of a control record. Of a newer key it takes
// the type, as Kafka does.
func ReadControlKey(key []byte) (ControlType, error) {
	version, rest, err := cutInt16(key)
	if err == nil && version < 0 {
		err = fmt.Errorf("%w: %d", ErrVersion, version)
	}
	if err != nil {
		return 0, fmt.Errorf("control key: %w", err)
	}
	number, _, err := cutInt16(rest)
	if err != nil {
		return 0, fmt.Errorf("control key: %w", err)
	}
	return ControlType(number), nil
}

// ReadControl reads key and value of a control record. With ErrUnknownType it
// still tells the type.
func ReadControl(key, value []byte) (ControlType, Message, error) {
	t, err := ReadControlKey(key)
	if err != nil {
		return 0, nil, err
	}
	version, body, err := cutInt16(value)
	if err != nil {
		return t, nil, fmt.Errorf("control value of %s: %w", t, err)
	}
	if t == ControlAbort || t == ControlCommit {
		m := NewEndTxnMarker()
		return t, m, m.ReadFrom(body, version)
	}
	m := newControl(int16(t))
	if m == nil {
		return t, nil, fmt.Errorf("control value: %w %d", ErrUnknownType, t)
	}
	return t, m, m.ReadFrom(value, version)
}
