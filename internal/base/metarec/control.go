package metarec

import "fmt"

// Types of the control records that end a transaction in a partition. Both
// carry an EndTxnMarker; the others have a message of their own, whose
// MessageType is the type. Package batch reads and writes the keys.
const (
	ControlAbort  int16 = 0
	ControlCommit int16 = 1
)

// AppendControlValue appends the value of a control record at a version. The
// bodies of quorum records begin with their version, which is set in m here;
// an EndTxnMarker is led by it. On an error dst comes back as it was.
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

// ReadControlValue reads the value of a control record whose key names the
// type.
func ReadControlValue(controlType int16, value []byte) (m Message, version int16, err error) {
	version, afterVersion, err := cutInt16(value)
	if err != nil {
		return nil, 0, fmt.Errorf("control value of type %d: %w", controlType, err)
	}
	if controlType == ControlAbort || controlType == ControlCommit {
		m = NewEndTxnMarker()
		return m, version, m.ReadFrom(afterVersion, version)
	}
	if m = newControl(controlType); m == nil {
		return nil, version, fmt.Errorf("control value: %w %d", ErrUnknownType, controlType)
	}
	return m, version, m.ReadFrom(value, version)
}
