package metarec

import "errors"

// Message is one record, key or value in one of its versions.
type Message interface {
	// MessageName is Kafka's name of the message, e.g. "TopicRecord".
	MessageName() string
	// MessageType is the number that stands for the message on disk: record
	// type, coordinator record type or control record type. It is -1 for
	// messages that are not told apart by a number.
	MessageType() int16
	// MinVersion is the lowest version there is.
	MinVersion() int16
	// MaxVersion is the highest version there is.
	MaxVersion() int16
	// AppendTo appends the body at a version to dst. It fails, with dst
	// returned as it was, if a field is set that the version has no room for,
	// or a string is too long.
	AppendTo(dst []byte, version int16) ([]byte, error)
	// ReadFrom sets the message from a body. Fields that the version lacks get
	// Kafka's defaults; tagged fields that are not known are skipped. The whole
	// of src must be used; src is not kept. After an error the message is in no
	// useful state.
	ReadFrom(src []byte, version int16) error
}

// Errors of reading; what is returned wraps one of them.
var (
	// ErrCorrupt means that the bytes are not what the format says.
	ErrCorrupt = errors.New("corrupt record")
	// ErrUnknownType means that no message has the number; a reader of
	// coordinator records may skip it, as it was written by a newer node.
	ErrUnknownType = errors.New("unknown record type")
	// ErrVersion means that the message has no such version.
	ErrVersion = errors.New("unsupported record version")
)

// ErrAbsent is wrapped when a field is set that the version to be written has
// no room for.
var ErrAbsent = errors.New("field does not exist at this version")
