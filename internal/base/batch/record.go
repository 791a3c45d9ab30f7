package batch

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ottla/ottla/internal/base/kafka"
)

// HeaderKV is one header of a record. A nil value is null.
type HeaderKV struct {
	Key   string
	Value []byte
}

// Record is one record of a batch. Key, Value and header values lie in the
// buffer that the record was read from and live as long as that does.
type Record struct {
	Offset         kafka.Offset // absolute
	Timestamp      int64        // ms; of the whole batch under log append time
	OffsetDelta    int32
	TimestampDelta int64
	Key            []byte // nil is null
	Value          []byte // nil is null
	Headers        []HeaderKV
}

// frame is the shape of one record: where its parts lie, without copies.
type frame struct {
	offsetDelta    int32
	timestampDelta int64
	key, value     []byte // nil is null
	headers        []byte // encoded, after the count
	headerCount    int32
}

// cursor reads varints and runs of bytes. After a failure bad is true and
// everything read is zero.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) varlong() int64 {
	v, n := binary.Varint(c.b)
	if n <= 0 {
		c.bad, c.b = true, nil
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) varint() int32 {
	v := c.varlong()
	if v < math.MinInt32 || v > math.MaxInt32 {
		c.bad, c.b = true, nil
		return 0
	}
	return int32(v)
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.bad, c.b = true, nil
		return nil
	}
	out := c.b[:n:n]
	c.b = c.b[n:]
	return out
}

// nullable reads a length and as many bytes; -1 is null.
func (c *cursor) nullable() []byte {
	n := c.varint()
	if n == -1 {
		return nil
	}
	return c.take(int(n))
}

// next reads the record at the cursor. A record must fill its length exactly.
func (c *cursor) next() (frame, bool) {
	body := cursor{b: c.take(int(c.varint()))}
	body.take(1) // attributes: none are defined
	var f frame
	f.timestampDelta = body.varlong()
	f.offsetDelta = body.varint()
	f.key = body.nullable()
	f.value = body.nullable()
	f.headerCount = body.varint()
	f.headers = body.b
	return f, !c.bad && !body.bad && body.skipHeaders(f.headerCount)
}

// skipHeaders walks n headers and tells whether they end where the record does.
func (c *cursor) skipHeaders(n int32) bool {
	if n < 0 || int(n) > len(c.b) {
		return false
	}
	for range n {
		c.take(int(c.varint()))
		c.nullable()
		if c.bad {
			return false
		}
	}
	return len(c.b) == 0
}

func (f frame) record(h Header) Record {
	r := Record{
		Offset:         h.BaseOffset + kafka.Offset(f.offsetDelta),
		Timestamp:      h.BaseTimestamp + f.timestampDelta,
		OffsetDelta:    f.offsetDelta,
		TimestampDelta: f.timestampDelta,
		Key:            f.key,
		Value:          f.value,
		Headers:        f.headerList(),
	}
	if h.LogAppendTime() {
		r.Timestamp = h.MaxTimestamp
	}
	return r
}

// headerList decodes headers that skipHeaders has walked before.
func (f frame) headerList() []HeaderKV {
	if f.headerCount == 0 {
		return nil
	}
	c := cursor{b: f.headers}
	list := make([]HeaderKV, 0, min(f.headerCount, 64))
	for range f.headerCount {
		key := string(c.take(int(c.varint())))
		list = append(list, HeaderKV{Key: key, Value: c.nullable()})
	}
	return list
}

func errRecord(i int) error { return fmt.Errorf("%w: record %d is malformed", ErrCorrupt, i) }

// appendRecord writes one record in the layout that cursor.next reads.
func appendRecord(dst []byte, offsetDelta int32, timestampDelta int64, key, value []byte, headers []HeaderKV) []byte {
	dst = binary.AppendVarint(dst, int64(recordSize(offsetDelta, timestampDelta, key, value, headers)))
	dst = append(dst, 0)
	dst = binary.AppendVarint(dst, timestampDelta)
	dst = binary.AppendVarint(dst, int64(offsetDelta))
	dst = appendNullable(dst, key)
	dst = appendNullable(dst, value)
	dst = binary.AppendVarint(dst, int64(len(headers)))
	for _, h := range headers {
		dst = binary.AppendVarint(dst, int64(len(h.Key)))
		dst = append(dst, h.Key...)
		dst = appendNullable(dst, h.Value)
	}
	return dst
}

// recordSize is the length of a record without its length field.
func recordSize(offsetDelta int32, timestampDelta int64, key, value []byte, headers []HeaderKV) int {
	n := 1 + varintSize(timestampDelta) + varintSize(int64(offsetDelta)) +
		nullableSize(key) + nullableSize(value) + varintSize(int64(len(headers)))
	for _, h := range headers {
		n += varintSize(int64(len(h.Key))) + len(h.Key) + nullableSize(h.Value)
	}
	return n
}

func appendNullable(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 1) // -1
	}
	dst = binary.AppendVarint(dst, int64(len(b)))
	return append(dst, b...)
}

func nullableSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int64(len(b))) + len(b)
}

func varintSize(v int64) int {
	n := 1
	for u := uint64(v<<1) ^ uint64(v>>63); u >= 0x80; u >>= 7 {
		n++
	}
	return n
}
