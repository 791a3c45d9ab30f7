package metarec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/ottla/ottla/internal/base/kafka"
)

// writer appends the parts of a message. The first thing that goes wrong stays
// in err; writing goes on, and finish drops what was written.
type writer struct {
	dst   []byte
	start int // length of dst before the message
	err   error
}

var errTooLong = errors.New("string is longer than 32767 bytes")

// supports checks the version before a message is written.
func (w *writer) supports(version, lowest, highest int16) bool {
	if version < lowest || version > highest {
		w.err = fmt.Errorf("%w: want %d to %d", ErrVersion, lowest, highest)
		return false
	}
	return true
}

// finish returns the result of AppendTo.
func (w *writer) finish(name string, version int16) ([]byte, error) {
	if w.err == nil {
		return w.dst, nil
	}
	return w.dst[:w.start], fmt.Errorf("write %s version %d: %w", name, version, w.err)
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// absent notes that a field is set which the version lacks.
func (w *writer) absent(field string) {
	w.fail(fmt.Errorf("%w: %s", ErrAbsent, field))
}

func (w *writer) bool(v bool) {
	if v {
		w.dst = append(w.dst, 1)
		return
	}
	w.dst = append(w.dst, 0)
}

func (w *writer) int8(v int8)   { w.dst = append(w.dst, byte(v)) }
func (w *writer) int16(v int16) { w.dst = binary.BigEndian.AppendUint16(w.dst, uint16(v)) }
func (w *writer) int32(v int32) { w.dst = binary.BigEndian.AppendUint32(w.dst, uint32(v)) }
func (w *writer) int64(v int64) { w.dst = binary.BigEndian.AppendUint64(w.dst, uint64(v)) }

func (w *writer) uint16(v uint16)   { w.dst = binary.BigEndian.AppendUint16(w.dst, v) }
func (w *writer) uint32(v uint32)   { w.dst = binary.BigEndian.AppendUint32(w.dst, v) }
func (w *writer) uvarint(v uint32)  { w.dst = binary.AppendUvarint(w.dst, uint64(v)) }
func (w *writer) uuid(v kafka.UUID) { w.dst = append(w.dst, v[:]...) }

func (w *writer) float64(v float64) {
	w.dst = binary.BigEndian.AppendUint64(w.dst, math.Float64bits(v))
}

// length writes the number of bytes or elements that follow. A compact length
// is a uvarint of n+1, where 0 stands for null.
func (w *writer) length(n int, compact bool) {
	if compact {
		w.uvarint(uint32(n + 1))
		return
	}
	w.int32(int32(n))
}

func (w *writer) string(v string, compact bool) {
	switch {
	case len(v) > math.MaxInt16:
		w.fail(errTooLong)
	case compact:
		w.uvarint(uint32(len(v) + 1))
	default:
		w.int16(int16(len(v)))
	}
	w.dst = append(w.dst, v...)
}

func (w *writer) nullableString(v *string, compact bool) {
	switch {
	case v != nil:
		w.string(*v, compact)
	case compact:
		w.uvarint(0)
	default:
		w.int16(-1)
	}
}

func (w *writer) bytes(v []byte, compact bool) {
	w.length(len(v), compact)
	w.dst = append(w.dst, v...)
}

func (w *writer) nullableBytes(v []byte, compact bool) {
	if v == nil {
		w.length(-1, compact)
		return
	}
	w.bytes(v, compact)
}

func (w *writer) array(n int, compact bool) { w.length(n, compact) }

func (w *writer) nullableArray(n int, null, compact bool) {
	if null {
		n = -1
	}
	w.length(n, compact)
}

// present writes the mark before a structure that may be null.
func (w *writer) present(is bool) bool {
	if is {
		w.int8(1)
	} else {
		w.int8(-1)
	}
	return is
}

// presentInTag is present for a tagged field, where null is 0.
func (w *writer) presentInTag(is bool) bool {
	w.bool(is)
	return is
}

// beginTag starts a tagged field. One byte is left free for its size, which is
// enough for nearly all of them.
func (w *writer) beginTag(tag uint32) (at int) {
	w.uvarint(tag)
	at = len(w.dst)
	w.dst = append(w.dst, 0)
	return at
}

// endTag fills in the size of the tagged field that began at at. A size of 128
// bytes or more takes more room: what follows it is moved up.
func (w *writer) endTag(at int) {
	body := at + 1
	size := len(w.dst) - body
	var enc [binary.MaxVarintLen32]byte
	n := binary.PutUvarint(enc[:], uint64(size))
	if n > 1 {
		w.dst = append(w.dst, enc[:n-1]...)
		copy(w.dst[at+n:], w.dst[body:body+size])
	}
	copy(w.dst[at:], enc[:n])
}
