package api

import (
	"encoding/binary"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/edge/storage"
	"github.com/ottla/ottla/internal/edge/transport"
)

// copyBelow is the size under which records are copied into the answer: one
// write is cheaper than a sendfile then.
const copyBelow = 32 << 10

// fetchAnswer is what one partition answers to a fetch.
type fetchAnswer struct {
	part       *fetchPart
	err        error
	hw         kafka.Offset // kafka.NoOffset with an error
	lastStable kafka.Offset
	logStart   kafka.Offset
	aborted    []storage.AbortedTxn // nil unless read_committed
	diverging  *partitions.Divergence
	hint       leaderHint // beside an error
	records    storage.Slice
	readable   bool // there are records to read, also where the limits left them out
}

// refusedAnswer is the answer of a partition that cannot be read.
func refusedAnswer(p *fetchPart, err error) fetchAnswer {
	return fetchAnswer{
		part: p, err: err, hw: kafka.NoOffset, lastStable: kafka.NoOffset, logStart: kafka.NoOffset,
		hint: noHint,
	}
}

// fetchEncoder writes a FetchResponse body as parts: bytes, and ranges of files
// that leave by sendfile. kmsg would have to hold the records in memory.
type fetchEncoder struct {
	version int16
	buf     []byte
	cuts    []fetchCut // the places in buf where files go
	pieces  []transport.Part
}

var fetchEncoders sync.Pool // of *fetchEncoder

// keptAnswer is the largest buffer that outlives the answer it was made for.
const keptAnswer = 256 << 10

// newFetchEncoder takes an encoder that goes back with free.
func newFetchEncoder(version int16) *fetchEncoder {
	e, ok := fetchEncoders.Get().(*fetchEncoder)
	if !ok {
		e = new(fetchEncoder)
	}
	e.version = version
	return e
}

func (e *fetchEncoder) reset() { e.buf, e.cuts, e.pieces = e.buf[:0], e.cuts[:0], e.pieces[:0] }

// free gives the encoder and the bytes of its parts back.
func (e *fetchEncoder) free() {
	if cap(e.buf) > keptAnswer {
		e.buf = nil
	}
	clear(e.cuts)
	clear(e.pieces)
	e.reset()
	fetchEncoders.Put(e)
}

type fetchCut struct {
	at      int
	records *storage.Slice
}

func (e *fetchEncoder) flexible() bool { return e.version >= 12 }

func (e *fetchEncoder) i32(v int32) { e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(v)) }
func (e *fetchEncoder) i64(v int64) { e.buf = binary.BigEndian.AppendUint64(e.buf, uint64(v)) }
func (e *fetchEncoder) i16(v int16) { e.buf = binary.BigEndian.AppendUint16(e.buf, uint16(v)) }

// count writes the length of an array, or of bytes.
func (e *fetchEncoder) count(n int) {
	if e.flexible() {
		e.buf = binary.AppendUvarint(e.buf, uint64(n)+1)
		return
	}
	e.i32(int32(n))
}

func (e *fetchEncoder) null() {
	if e.flexible() {
		e.buf = append(e.buf, 0)
		return
	}
	e.i32(-1)
}

// tags ends a struct that has no tagged fields.
func (e *fetchEncoder) tags() {
	if e.flexible() {
		e.buf = append(e.buf, 0)
	}
}

// head writes what stands before the topics.
func (e *fetchEncoder) head(err error, session int32, topics int) {
	e.i32(0) // throttle time
	if e.version >= 7 {
		e.i16(int16(kerr.Of(err)))
		e.i32(session)
	}
	e.count(topics)
}

// topic begins a topic with n partitions.
func (e *fetchEncoder) topic(k *fetchKey, n int) {
	if e.version >= 13 {
		e.buf = append(e.buf, k.id[:]...)
	} else {
		e.string(k.topic)
	}
	e.count(n)
}

func (e *fetchEncoder) string(s string) {
	if e.flexible() {
		e.buf = binary.AppendUvarint(e.buf, uint64(len(s))+1)
	} else {
		e.i16(int16(len(s)))
	}
	e.buf = append(e.buf, s...)
}

func (e *fetchEncoder) partition(a *fetchAnswer) error {
	e.i32(int32(a.part.key.partition))
	e.i16(int16(kerr.Of(a.err)))
	e.i64(int64(a.hw))
	e.i64(int64(a.lastStable))
	if e.version >= 5 {
		e.i64(int64(a.logStart))
	}
	e.abortedList(a)
	if e.version >= 11 {
		e.i32(int32(kafka.NoNode)) // preferred read replica
	}
	if err := e.records(a); err != nil {
		return err
	}
	e.partitionTags(a)
	return nil
}

func (e *fetchEncoder) abortedList(a *fetchAnswer) {
	if a.aborted == nil {
		e.null()
		return
	}
	e.count(len(a.aborted))
	for _, t := range a.aborted {
		e.i64(int64(t.Producer))
		e.i64(int64(t.First))
		e.tags()
	}
}

func (e *fetchEncoder) records(a *fetchAnswer) (err error) {
	r := &a.records
	e.count(int(r.Len))
	switch {
	case r.Len == 0:
		return nil
	case r.Len < copyBelow || r.File.OS() == nil:
		e.buf, err = r.AppendTo(e.buf)
		return err
	}
	e.cuts = append(e.cuts, fetchCut{len(e.buf), r})
	return nil
}

// partitionTags writes the tagged fields of a partition: 0 where the logs
// diverge (KIP-595), 1 who leads (KIP-951).
func (e *fetchEncoder) partitionTags(a *fetchAnswer) {
	if !e.flexible() {
		return
	}
	n := byte(0)
	if a.diverging != nil {
		n++
	}
	if a.hint != noHint {
		n++
	}
	e.buf = append(e.buf, n)
	if a.diverging != nil {
		e.buf = append(e.buf, 0, 4+8+1)
		e.i32(int32(a.diverging.Epoch))
		e.i64(int64(a.diverging.End))
		e.tags()
	}
	if a.hint != noHint {
		e.buf = append(e.buf, 1, 4+4+1)
		e.i32(int32(a.hint.node))
		e.i32(int32(a.hint.epoch))
		e.tags()
	}
}

// tail writes what stands behind the topics: where the named leaders are.
func (e *fetchEncoder) tail(brokers []kmsg.FetchResponseBroker) {
	if !e.flexible() {
		return
	}
	if e.version < 16 || len(brokers) == 0 {
		e.buf = append(e.buf, 0)
		return
	}
	var list fetchEncoder
	list.version = e.version
	list.count(len(brokers))
	for i := range brokers {
		list.broker(&brokers[i])
	}
	e.buf = append(e.buf, 1, 0)
	e.buf = binary.AppendUvarint(e.buf, uint64(len(list.buf)))
	e.buf = append(e.buf, list.buf...)
}

func (e *fetchEncoder) broker(b *kmsg.FetchResponseBroker) {
	e.i32(b.NodeID)
	e.string(b.Host)
	e.i32(b.Port)
	if b.Rack == nil {
		e.null()
	} else {
		e.string(*b.Rack)
	}
	e.tags()
}

// answers writes a whole body. Partitions of one topic that follow each other
// stand under it once. It fails when records cannot be read.
func (e *fetchEncoder) answers(session int32, list []fetchAnswer, brokers []kmsg.FetchResponseBroker) error {
	e.head(nil, session, countRuns(list))
	for len(list) > 0 {
		n := run(list)
		e.topic(&list[0].part.key, n)
		for i := range list[:n] {
			if err := e.partition(&list[i]); err != nil {
				return err
			}
		}
		e.tags()
		list = list[n:]
	}
	e.tail(brokers)
	return nil
}

// run is how many answers at the beginning belong to one topic.
func run(list []fetchAnswer) int {
	first := &list[0].part.key
	for i := range list {
		if k := &list[i].part.key; k.topic != first.topic || k.id != first.id {
			return i
		}
	}
	return len(list)
}

func countRuns(list []fetchAnswer) (n int) {
	for len(list) > 0 {
		list = list[run(list):]
		n++
	}
	return n
}

// parts cuts the bytes where files go between them.
func (e *fetchEncoder) parts() []transport.Part {
	parts := e.pieces[:0]
	from := 0
	for _, c := range e.cuts {
		if c.at > from {
			parts = append(parts, transport.Part{Bytes: e.buf[from:c.at]})
			from = c.at
		}
		parts = append(parts, transport.Part{File: c.records.File.OS(), Off: c.records.Off, Len: c.records.Len})
	}
	if len(e.buf) > from {
		parts = append(parts, transport.Part{Bytes: e.buf[from:]})
	}
	e.pieces = parts
	return parts
}
