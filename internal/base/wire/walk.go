package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Bounds on what a body may claim, as Apache Kafka 4.4 sets them.
const (
	MaxElements = 1_000_000 // elements of one array
	MaxTags     = 10_000    // tagged fields of one struct
	maxString   = 0x7fff    // bytes of a string, also where the length is a varint
)

// Small is a size at which no body can take more than 64 KiB beside 4 times
// itself: no byte of it stands for more than 72 bytes of memory.
const Small = 768

// ErrMalformed is wrapped by every error about the shape of a frame or body.
var ErrMalformed = errors.New("malformed")

// Memory that kmsg takes besides array elements.
const (
	unknownTagMemory     = 144 // an entry of the map of unknown tags, with what the map grows by
	nullableStringMemory = 16  // the string header behind the pointer
)

// message and field are rows of the generated table.
type message struct {
	min, max   int8
	flex       int8 // first version with compact lengths and tags
	count      uint8
	first      uint16 // fields[first:first+count]
	holdsBytes bool   // the decoded body keeps parts of the frame
}

type field struct {
	kind     kind
	from, to int8 // versions that have the field
	nullFrom int8 // first version in which it may be null
	tag      int8 // -1: not tagged
	count    uint8
	first    uint16 // children of a struct
	memory   uint16 // heap bytes of one element or of the struct behind a pointer
}

// never marks a version that does not come.
const never = 127

// kind is a fixed width in bytes, or one of the constants, perhaps in an array.
type kind uint8

const (
	kindString kind = 32 + iota
	kindBytes
	kindStruct
	kindArray kind = 128
)

// RequestMemory walks the body of a request and adds up the heap bytes that
// decoding it takes, in time linear in the body and without allocating. It
// refuses bodies that are too short for what they claim, nulls where none may
// be, and counts above MaxElements and MaxTags. Bytes after the body are left
// alone, as Kafka does.
func RequestMemory(key, version int16, body []byte) (int64, error) {
	return memory(&requests, key, version, body)
}

// ResponseMemory is RequestMemory for the body of a response.
func ResponseMemory(key, version int16, body []byte) (int64, error) {
	return memory(&responses, key, version, body)
}

func memory(table *[len(requests)]message, key, version int16, body []byte) (int64, error) {
	m := find(table, key)
	if m == nil || version < int16(m.min) || version > int16(m.max) {
		return 0, fmt.Errorf("%w: no schema for key %d version %d", ErrMalformed, key, version)
	}
	w := walker{src: body, version: int8(version), flexible: int8(version) >= m.flex}
	w.structure(m.first, m.count)
	if w.bad != "" {
		return 0, fmt.Errorf("%w: %s", ErrMalformed, w.bad)
	}
	return w.total, nil
}

// find returns the row of a key. A gap in the table is a row without fields;
// no message of Kafka's is without fields in every version.
func find(table *[len(requests)]message, key int16) *message {
	if key < 0 || int(key) >= len(table) || table[key].count == 0 {
		return nil
	}
	return &table[key]
}

// walker reads a body once from front to back.
type walker struct {
	src      []byte
	total    int64
	bad      string // why the body is refused
	version  int8
	flexible bool
}

func (w *walker) fail(why string) {
	if w.bad == "" {
		w.bad = why
	}
	w.src = nil
}

func (w *walker) has(f *field) bool { return f.from <= w.version && w.version <= f.to }

// structure walks one struct: its fields in order, then its tagged fields.
func (w *walker) structure(first uint16, count uint8) {
	group := fields[first : first+uint16(count)]
	for i := range group {
		f := &group[i]
		if w.has(f) && f.tag < 0 {
			w.field(f)
		}
		if w.bad != "" {
			return
		}
	}
	if w.flexible {
		w.tags(group)
	}
}

func (w *walker) tags(group []field) {
	n := w.uvarint()
	if n > MaxTags {
		w.fail("too many tagged fields")
	}
	for ; n > 0 && w.bad == ""; n-- {
		tag, size := w.uvarint(), w.uvarint()
		if size > uint32(len(w.src)) {
			w.fail("tagged field longer than the body")
			return
		}
		rest := w.src[size:]
		if f := w.tagged(group, tag); f != nil {
			w.src = w.src[:size]
			w.field(f)
		} else {
			w.total += unknownTagMemory
		}
		if w.bad == "" {
			w.src = rest
		}
	}
}

func (w *walker) tagged(group []field, tag uint32) *field {
	for i := range group {
		if f := &group[i]; f.tag >= 0 && uint32(f.tag) == tag && w.has(f) {
			return f
		}
	}
	return nil
}

func (w *walker) field(f *field) {
	nullable := w.version >= f.nullFrom
	if f.kind&kindArray != 0 {
		w.array(f, nullable)
		return
	}
	switch f.kind {
	case kindString:
		w.string(nullable)
		if f.nullFrom != never { // kmsg has one pointer for all versions
			w.total += nullableStringMemory
		}
	case kindBytes:
		w.bytes(nullable)
	case kindStruct:
		if nullable && !w.present() {
			return
		}
		w.total += int64(f.memory)
		w.structure(f.first, f.count)
	default:
		w.skip(int(f.kind))
	}
}

func (w *walker) array(f *field, nullable bool) {
	n := w.length()
	switch {
	case n < 0 && nullable:
		return
	case n < 0:
		w.fail("null array")
		return
	case n > MaxElements:
		w.fail("too many array elements")
		return
	}
	w.total += int64(n) * int64(f.memory)
	switch k := f.kind &^ kindArray; k {
	case kindString, kindBytes, kindStruct:
		for ; n > 0 && w.bad == ""; n-- {
			w.element(f, k)
		}
	default:
		w.skip(n * int(k))
	}
}

func (w *walker) element(f *field, k kind) {
	switch k {
	case kindString:
		w.string(false)
	case kindBytes:
		w.bytes(false)
	default:
		w.structure(f.first, f.count)
	}
}

func (w *walker) string(nullable bool) {
	n := 0
	if w.flexible {
		n = w.compactLength()
	} else if b := w.take(2); b != nil {
		n = int(int16(binary.BigEndian.Uint16(b)))
	}
	switch {
	case n < 0 && !nullable:
		w.fail("null string")
	case n > maxString:
		w.fail("string too long")
	case n > 0:
		w.total += int64(n)
		w.skip(n)
	}
}

// bytes are not copied by kmsg, so they cost nothing.
func (w *walker) bytes(nullable bool) {
	n := w.length()
	if n < 0 && !nullable {
		w.fail("null bytes")
	}
	if n > 0 {
		w.skip(n)
	}
}

// present reads the mark before a struct that may be null.
func (w *walker) present() bool {
	b := w.take(1)
	return b != nil && int8(b[0]) >= 0
}

// length reads the count of an array or of bytes; -1 is null.
func (w *walker) length() int {
	if w.flexible {
		return w.compactLength()
	}
	b := w.take(4)
	if b == nil {
		return 0
	}
	return int(int32(binary.BigEndian.Uint32(b)))
}

func (w *walker) compactLength() int { return int(int32(w.uvarint())) - 1 }

func (w *walker) uvarint() uint32 {
	v, n := binary.Uvarint(w.src)
	if n <= 0 || v > 1<<32-1 {
		w.fail("bad or missing varint")
		return 0
	}
	w.src = w.src[n:]
	return uint32(v)
}

func (w *walker) skip(n int) { w.take(n) }

func (w *walker) take(n int) []byte {
	if n < 0 || n > len(w.src) {
		w.fail("body ends early")
		return nil
	}
	b := w.src[:n]
	w.src = w.src[n:]
	return b
}
