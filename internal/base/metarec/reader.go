package metarec

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ottla/ottla/internal/base/kafka"
)

// reader takes the parts of a message from its body. The first thing that goes
// wrong stays in err, and all that is read after it is zero. Every length is
// compared with the bytes that are left before anything is allocated.
type reader struct {
	src []byte
	pos int // Invariant: 0 <= pos <= len(src).
	err error
}

// supports checks the version before a message is read.
func (r *reader) supports(version, lowest, highest int16) bool {
	if version < lowest || version > highest {
		r.err = fmt.Errorf("%w: want %d to %d", ErrVersion, lowest, highest)
		return false
	}
	return true
}

// finish returns the result of ReadFrom.
func (r *reader) finish(name string, version int16) error {
	if r.err == nil && r.pos < len(r.src) {
		r.fail("%d bytes too many", r.left())
	}
	if r.err != nil {
		return fmt.Errorf("read %s version %d: %w", name, version, r.err)
	}
	return nil
}

func (r *reader) left() int { return len(r.src) - r.pos }

// fail notes the first error and takes away the rest of the bytes, so that
// everything after it fails too.
func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: at byte %d: %s", ErrCorrupt, r.pos, fmt.Sprintf(format, args...))
	}
	r.src = r.src[:r.pos]
}

// take returns the next n bytes, nil if there are fewer.
func (r *reader) take(n int) []byte {
	if n > r.left() {
		r.short(n)
		return nil
	}
	b := r.src[r.pos : r.pos+n]
	r.pos += n
	return b
}

func (r *reader) short(n int) { r.fail("want %d bytes, have %d", n, r.left()) }

func (r *reader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

// bool reads a byte that is 0 for false; like Kafka it takes any other value
// for true.
func (r *reader) bool() bool { return r.int8() != 0 }

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) int16() int16     { return int16(r.uint16()) }
func (r *reader) int32() int32     { return int32(r.uint32()) }
func (r *reader) int64() int64     { return int64(r.uint64()) }
func (r *reader) float64() float64 { return math.Float64frombits(r.uint64()) }

func (r *reader) uuid() (u kafka.UUID) {
	copy(u[:], r.take(len(u)))
	return u
}

// uvarint reads an unsigned integer of at most 32 bits and five bytes.
func (r *reader) uvarint() uint32 {
	v, n := binary.Uvarint(r.src[r.pos:])
	if n <= 0 || n > binary.MaxVarintLen32 || v > math.MaxUint32 {
		r.fail("bad variable-length integer")
		return 0
	}
	r.pos += n
	return uint32(v)
}

// length reads how many bytes or elements follow, -1 for null. What is not
// compact is led by an int32.
func (r *reader) length(compact bool) int {
	if compact {
		return int(r.uvarint()) - 1
	}
	return int(r.int32())
}

// bounded tells whether n elements of at least least bytes can follow; if not,
// it fails. A null is not among them.
func (r *reader) bounded(n, least int) bool {
	switch {
	case r.err != nil:
		return false
	case n < 0:
		r.fail("null or negative length %d", n)
		return false
	case n > r.left()/least:
		r.fail("length %d of at least %d bytes each, have %d", n, least, r.left())
		return false
	}
	return true
}

func (r *reader) stringLength(compact bool) int {
	if compact {
		return r.length(true)
	}
	return int(r.int16())
}

func (r *reader) string(compact bool) string {
	n := r.stringLength(compact)
	if !r.bounded(n, 1) {
		return ""
	}
	return string(r.take(n))
}

func (r *reader) nullableString(compact bool) *string {
	n := r.stringLength(compact)
	if n == -1 || !r.bounded(n, 1) {
		return nil
	}
	s := string(r.take(n))
	return &s
}

// bytes returns a copy; nil if there are none.
func (r *reader) bytes(compact bool) []byte {
	n := r.length(compact)
	if !r.bounded(n, 1) || n == 0 {
		return nil
	}
	return append([]byte(nil), r.take(n)...)
}

// nullableBytes returns a copy; nil stands for null only.
func (r *reader) nullableBytes(compact bool) []byte {
	n := r.length(compact)
	if n == -1 || !r.bounded(n, 1) {
		return nil
	}
	return append([]byte{}, r.take(n)...)
}

// array reads the number of elements, which take at least least bytes each.
func (r *reader) array(compact bool, least int) int {
	n := r.length(compact)
	if !r.bounded(n, least) {
		return 0
	}
	return n
}

// nullableArray is array where the length may be null, told by ok being false.
func (r *reader) nullableArray(compact bool, least int) (n int, ok bool) {
	n = r.length(compact)
	if n == -1 || !r.bounded(n, least) {
		return 0, false
	}
	return n, true
}

// present reads the mark before a structure that may be null.
func (r *reader) present() bool { return r.int8() >= 0 && r.err == nil }

// presentInTag is present for a tagged field, where the mark is an unsigned
// integer and null is 0.
func (r *reader) presentInTag() bool { return r.uvarint() > 0 }

// tags reads the number of tagged fields; each takes two bytes or more.
func (r *reader) tags() uint32 {
	n := r.uvarint()
	if int64(n) > int64(r.left()/2) {
		r.fail("%d tagged fields, have %d bytes", n, r.left())
		return 0
	}
	return n
}

// tag reads the head of a tagged field: its number and where it ends.
func (r *reader) tag() (tag uint32, end int) {
	tag = r.uvarint()
	size := int64(r.uvarint())
	if size > int64(r.left()) {
		r.fail("tagged field %d of %d bytes, have %d", tag, size, r.left())
		return tag, r.pos
	}
	return tag, r.pos + int(size)
}

// endTag checks that a tagged field was as long as it said.
func (r *reader) endTag(end int) {
	if r.err == nil && r.pos != end {
		r.fail("tagged field ends at byte %d, not here", end)
	}
}

// skipTo passes over the rest of a tagged field that is not known.
func (r *reader) skipTo(end int) { r.pos = min(max(end, r.pos), len(r.src)) }

// skipTags passes over all tagged fields of a structure that has none.
func (r *reader) skipTags() {
	for n := r.tags(); n > 0; n-- {
		_, end := r.tag()
		r.skipTo(end)
	}
}
