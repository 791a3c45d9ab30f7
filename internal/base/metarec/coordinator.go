package metarec

import (
	"encoding/binary"
	"fmt"
)

// AppendCoordinatorKey appends the key of a coordinator's record: int16 type,
// body at version 0. On an error dst comes back as it was.
func AppendCoordinatorKey(dst []byte, key Message) ([]byte, error) {
	out, err := key.AppendTo(binary.BigEndian.AppendUint16(dst, uint16(key.MessageType())), 0)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// AppendCoordinatorValue appends the value of a coordinator's record: int16
// version, body. On an error dst comes back as it was.
func AppendCoordinatorValue(dst []byte, value Message, version int16) ([]byte, error) {
	return appendVersioned(dst, value, version)
}

// appendVersioned appends int16 version and body.
func appendVersioned(dst []byte, m Message, version int16) ([]byte, error) {
	out, err := m.AppendTo(binary.BigEndian.AppendUint16(dst, uint16(version)), version)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// ReadGroupKey reads the key of a record of __consumer_offsets.
func ReadGroupKey(src []byte) (Message, error) { return readKey("group", newGroupKey, src) }

// ReadGroupValue reads the value that stands beside key in __consumer_offsets.
// A null value, which deletes the key, gives a nil Message.
func ReadGroupValue(key Message, src []byte) (Message, int16, error) {
	return readValue("group", newGroupValue, key, src)
}

// GroupReader reads records of __consumer_offsets as ReadGroupKey and
// ReadGroupValue do. Of committed offsets, which nearly all of them are, it hands
// out the same two messages again and again: they are valid until the next call.
type GroupReader struct {
	key   OffsetCommitKey
	value OffsetCommitValue
}

// Key reads the key of a record.
func (r *GroupReader) Key(src []byte) (Message, error) {
	return readKey("group", func(number int16) Message {
		if number == r.key.MessageType() {
			return &r.key
		}
		return newGroupKey(number)
	}, src)
}

// Value reads the value that stands beside key; nil for a null value.
func (r *GroupReader) Value(key Message, src []byte) (Message, int16, error) {
	return readValue("group", func(number int16) Message {
		if number == r.value.MessageType() {
			return &r.value
		}
		return newGroupValue(number)
	}, key, src)
}

// ReadTxnKey reads the key of a record of __transaction_state.
func ReadTxnKey(src []byte) (Message, error) { return readKey("transaction", newTxnKey, src) }

// ReadTxnValue reads the value that stands beside key in __transaction_state.
// A null value, which deletes the key, gives a nil Message.
func ReadTxnValue(key Message, src []byte) (Message, int16, error) {
	return readValue("transaction", newTxnValue, key, src)
}

// ReadShareKey reads the key of a record of __share_group_state.
func ReadShareKey(src []byte) (Message, error) { return readKey("share", newShareKey, src) }

// ReadShareValue reads the value that stands beside key in
// __share_group_state. A null value, which deletes the key, gives a nil Message.
func ReadShareValue(key Message, src []byte) (Message, int16, error) {
	return readValue("share", newShareValue, key, src)
}

func readKey(what string, byType func(int16) Message, src []byte) (Message, error) {
	number, body, err := cutInt16(src)
	if err != nil {
		return nil, fmt.Errorf("%s key: %w", what, err)
	}
	key := byType(number)
	if key == nil {
		return nil, fmt.Errorf("%s key: %w %d", what, ErrUnknownType, number)
	}
	return key, key.ReadFrom(body, 0)
}

func readValue(what string, byType func(int16) Message, key Message, src []byte) (Message, int16, error) {
	if src == nil {
		return nil, 0, nil
	}
	version, body, err := cutInt16(src)
	if err != nil {
		return nil, 0, fmt.Errorf("%s value: %w", what, err)
	}
	value := byType(key.MessageType())
	if value == nil {
		return nil, 0, fmt.Errorf("%s value: %w %d", what, ErrUnknownType, key.MessageType())
	}
	return value, version, value.ReadFrom(body, version)
}

// cutInt16 takes the number that leads a key, a value or a file.
func cutInt16(src []byte) (number int16, rest []byte, err error) {
	if len(src) < 2 {
		return 0, nil, fmt.Errorf("%w: %d bytes", ErrCorrupt, len(src))
	}
	return int16(binary.BigEndian.Uint16(src)), src[2:], nil
}
