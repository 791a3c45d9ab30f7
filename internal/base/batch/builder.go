package batch

import (
	"encoding/binary"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Producer is the identity an idempotent producer gives to a batch.
type Producer struct {
	ID       kafka.ProducerID
	Epoch    int16
	Sequence int32 // of the first record; NoSequence for markers
}

// Options say what a built batch carries besides its records.
type Options struct {
	Codec         Codec
	Level         int // of the codec; DefaultLevel leaves it to the codec
	BaseOffset    kafka.Offset
	LeaderEpoch   kafka.Epoch
	AppendTime    *int64    // ms; set means log append time
	Producer      *Producer // nil means none
	Transactional bool
	Control       bool
	// DeleteHorizon is set by compaction: after that time, in ms, the batch's
	// tombstones or marker may go (KIP-534).
	DeleteHorizon *int64
}

// Builder collects records and writes them as one batch. It keeps its buffer
// between batches and is not safe for concurrent use.
type Builder struct {
	opt           Options
	body          []byte
	count         int32
	lastDelta     int32
	baseTimestamp int64
	maxTimestamp  int64
}

// NewBuilder makes a builder for a first batch.
func NewBuilder(opt Options) *Builder {
	b := new(Builder)
	b.Reset(opt)
	return b
}

// Reset forgets all records and begins another batch.
func (b *Builder) Reset(opt Options) {
	*b = Builder{opt: opt, body: b.body[:0], maxTimestamp: NoTimestamp, lastDelta: -1}
}

// Grow makes room for records of so many bytes in all, so that the buffer need not
// grow step by step.
func (b *Builder) Grow(bytes int) { b.body = slices.Grow(b.body, bytes) }

// Add appends a record at the next offset. A nil key or value is null;
// timestampMs may be NoTimestamp. Everything is copied.
func (b *Builder) Add(timestampMs int64, key, value []byte, headers ...HeaderKV) {
	b.AddAt(b.lastDelta+1, timestampMs, key, value, headers)
}

// AddAt is Add for a record whose distance from the base offset is chosen by
// the caller, as compaction must keep it. Deltas must grow.
func (b *Builder) AddAt(offsetDelta int32, timestampMs int64, key, value []byte, headers []HeaderKV) {
	switch {
	case b.opt.DeleteHorizon != nil:
		b.baseTimestamp = *b.opt.DeleteHorizon // the field holds it, so deltas may be negative
	case b.count == 0:
		b.baseTimestamp = timestampMs
	}
	b.body = appendRecord(b.body, offsetDelta, timestampMs-b.baseTimestamp, key, value, headers)
	b.count++
	b.lastDelta = offsetDelta
	b.maxTimestamp = max(b.maxTimestamp, timestampMs)
}

// Len is the number of records added.
func (b *Builder) Len() int { return int(b.count) }

// Size is the size of the batch before compression, in bytes.
func (b *Builder) Size() int { return HeaderSize + len(b.body) }

// SetLastOffsetDelta keeps the range of offsets of a batch whose last records
// are gone (compaction).
func (b *Builder) SetLastOffsetDelta(delta int32) { b.lastDelta = delta }

// Build appends the batch to dst. Without records it appends nothing.
func (b *Builder) Build(dst []byte) []byte {
	if b.count == 0 {
		return dst
	}
	start := len(dst)
	dst = append(dst, make([]byte, HeaderSize)...)
	dst = b.opt.Codec.Compress(dst, b.body, b.opt.Level)
	b.putHeader(dst[start:])
	return dst
}

func (b *Builder) putHeader(out []byte) {
	be := binary.BigEndian
	be.PutUint64(out[atBaseOffset:], uint64(b.opt.BaseOffset))
	be.PutUint32(out[atLength:], uint32(len(out)-Overhead))
	be.PutUint32(out[atLeaderEpoch:], uint32(b.opt.LeaderEpoch))
	out[atMagic] = Magic
	be.PutUint16(out[atAttributes:], b.attributes())
	be.PutUint32(out[atLastDelta:], uint32(b.lastDelta))
	be.PutUint64(out[atBaseTimestamp:], uint64(b.baseTimestamp))
	be.PutUint64(out[atMaxTimestamp:], uint64(b.maxTimestamp))
	if b.opt.AppendTime != nil {
		be.PutUint64(out[atMaxTimestamp:], uint64(*b.opt.AppendTime))
	}
	p := Producer{ID: kafka.NoProducer, Epoch: -1, Sequence: NoSequence}
	if b.opt.Producer != nil {
		p = *b.opt.Producer
	}
	be.PutUint64(out[atProducerID:], uint64(p.ID))
	be.PutUint16(out[atProducerEpoch:], uint16(p.Epoch))
	be.PutUint32(out[atBaseSequence:], uint32(p.Sequence))
	be.PutUint32(out[atCount:], uint32(b.count))
	seal(out)
}

func (b *Builder) attributes() uint16 {
	a := uint16(b.opt.Codec) & codecMask
	if b.opt.AppendTime != nil {
		a |= bitLogAppendTime
	}
	if b.opt.Transactional {
		a |= bitTransactional
	}
	if b.opt.Control {
		a |= bitControl
	}
	if b.opt.DeleteHorizon != nil {
		a |= bitDeleteHorizon
	}
	return a
}
