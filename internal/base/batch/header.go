package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"math"

	"github.com/ottla/ottla/internal/base/kafka"
)

const (
	// HeaderSize is the number of bytes before the records.
	HeaderSize = 61
	// Overhead is the number of bytes that the length field does not count.
	Overhead = 12
	// Magic is the one format this package knows.
	Magic = 2

	// NoTimestamp marks a record whose client gave no time.
	NoTimestamp int64 = -1
	// NoSequence marks a batch of a producer that is not idempotent.
	NoSequence int32 = -1
)

// Positions of the header's fields.
const (
	atBaseOffset     = 0
	atLength         = 8
	atLeaderEpoch    = 12
	atMagic          = 16
	atCRC            = 17
	atAttributes     = 21
	atLastDelta      = 23
	atBaseTimestamp  = 27
	atMaxTimestamp   = 35
	atProducerID     = 43
	atProducerEpoch  = 51
	atBaseSequence   = 53
	atCount          = 57
	minLength        = HeaderSize - Overhead
	codecMask        = 0x07
	bitLogAppendTime = 1 << 3
	bitTransactional = 1 << 4
	bitControl       = 1 << 5
	bitDeleteHorizon = 1 << 6
)

// ErrShort says that the bytes end before the header or the batch does: there
// may be more to come.
var ErrShort = errors.New("batch is cut short")

// ErrCorrupt says that the bytes cannot be a batch of this format.
var ErrCorrupt = errors.New("batch is corrupt")

// Header is what stands before the records of a batch.
type Header struct {
	BaseOffset      kafka.Offset
	Length          int32 // bytes after the length field
	LeaderEpoch     kafka.Epoch
	Magic           int8
	CRC             uint32
	Attributes      int16
	LastOffsetDelta int32
	BaseTimestamp   int64 // ms; a delete horizon when that bit is set (KIP-534)
	MaxTimestamp    int64 // ms
	ProducerID      kafka.ProducerID
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32
}

// ParseHeader reads the header at the start of b, which may end before the
// records do. It checks the format, that the length can hold a header and that
// there is an offset behind the last, but neither the checksum nor the counts.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, shortHeader(b)
	}
	be := binary.BigEndian
	h := Header{
		BaseOffset:      kafka.Offset(be.Uint64(b[atBaseOffset:])),
		Length:          int32(be.Uint32(b[atLength:])),
		LeaderEpoch:     kafka.Epoch(be.Uint32(b[atLeaderEpoch:])),
		Magic:           int8(b[atMagic]),
		CRC:             be.Uint32(b[atCRC:]),
		Attributes:      int16(be.Uint16(b[atAttributes:])),
		LastOffsetDelta: int32(be.Uint32(b[atLastDelta:])),
		BaseTimestamp:   int64(be.Uint64(b[atBaseTimestamp:])),
		MaxTimestamp:    int64(be.Uint64(b[atMaxTimestamp:])),
		ProducerID:      kafka.ProducerID(be.Uint64(b[atProducerID:])),
		ProducerEpoch:   int16(be.Uint16(b[atProducerEpoch:])),
		BaseSequence:    int32(be.Uint32(b[atBaseSequence:])),
		Count:           int32(be.Uint32(b[atCount:])),
	}
	return h, h.check()
}

// shortHeader tells a header that is still growing from bytes that can never
// become one.
func shortHeader(b []byte) error {
	if len(b) > atMagic && b[atMagic] != Magic {
		return fmt.Errorf("%w: magic %d", ErrCorrupt, int8(b[atMagic]))
	}
	return ErrShort
}

func (h Header) check() error {
	switch {
	case h.Magic != Magic:
		return fmt.Errorf("%w: magic %d", ErrCorrupt, h.Magic)
	case h.Length < minLength || h.Length > math.MaxInt32-Overhead:
		return fmt.Errorf("%w: length %d", ErrCorrupt, h.Length)
	case h.LastOffsetDelta < 0:
		return fmt.Errorf("%w: last offset delta %d", ErrCorrupt, h.LastOffsetDelta)
	case h.BaseOffset >= math.MaxInt64-kafka.Offset(h.LastOffsetDelta):
		return fmt.Errorf("%w: %d offsets from %d on", ErrCorrupt, int64(h.LastOffsetDelta)+1, h.BaseOffset)
	}
	return nil
}

// Size is the number of bytes of the whole batch.
func (h Header) Size() int { return int(h.Length) + Overhead }

// Last is the offset of the last record, also of one that compaction removed.
func (h Header) Last() kafka.Offset { return h.BaseOffset + kafka.Offset(h.LastOffsetDelta) }

// End is one past the last offset.
func (h Header) End() kafka.Offset { return h.Last() + 1 }

// Codec is how the records are compressed.
func (h Header) Codec() Codec { return Codec(h.Attributes & codecMask) }

// Control tells a batch that holds a control record, which no consumer sees.
func (h Header) Control() bool { return h.Attributes&bitControl != 0 }

// Transactional tells a batch that belongs to a transaction.
func (h Header) Transactional() bool { return h.Attributes&bitTransactional != 0 }

// IsTransactional tells of the bytes of a batch, as a client sent them, whether it
// says that it belongs to a transaction.
func IsTransactional(b []byte) bool {
	return len(b) > atAttributes+1 && b[atMagic] == Magic && b[atAttributes+1]&bitTransactional != 0
}

// LogAppendTime tells that MaxTimestamp is the time of every record.
func (h Header) LogAppendTime() bool { return h.Attributes&bitLogAppendTime != 0 }

// DeleteHorizon is the time after which the cleaner may drop the batch's
// tombstones or marker (KIP-534), if it was set.
func (h Header) DeleteHorizon() (ms int64, set bool) {
	if h.Attributes&bitDeleteHorizon == 0 {
		return 0, false
	}
	return h.BaseTimestamp, true
}

// HasProducer tells a batch of an idempotent producer.
func (h Header) HasProducer() bool { return h.ProducerID != kafka.NoProducer }

// LastSequence is the sequence of the last record; sequences go from
// 2147483647 to 0.
func (h Header) LastSequence() int32 {
	if h.BaseSequence == NoSequence {
		return NoSequence
	}
	return AddSequence(h.BaseSequence, h.LastOffsetDelta)
}

// AddSequence moves a sequence on by n records; after 2147483647 comes 0.
func AddSequence(sequence, n int32) int32 {
	return int32((int64(sequence) + int64(n)) & math.MaxInt32)
}

// All walks whole batches that lie back to back. It stops at the first one that
// is cut short or whose header is corrupt. Checksums are not looked at.
func All(b []byte) iter.Seq2[Header, []byte] {
	return func(yield func(Header, []byte) bool) {
		for len(b) > 0 {
			h, err := ParseHeader(b)
			if err != nil || len(b) < h.Size() || !yield(h, b[:h.Size():h.Size()]) {
				return
			}
			b = b[h.Size():]
		}
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CheckCRC tells whether the checksum of one whole batch is right.
func CheckCRC(b []byte) bool {
	return len(b) >= HeaderSize && binary.BigEndian.Uint32(b[atCRC:]) == checksum(b)
}

func checksum(b []byte) uint32 { return crc32.Checksum(b[atAttributes:], castagnoli) }

func seal(b []byte) { binary.BigEndian.PutUint32(b[atCRC:], checksum(b)) }

// SetBaseOffset moves the batch that begins b; the checksum does not cover it.
func SetBaseOffset(b []byte, o kafka.Offset) {
	binary.BigEndian.PutUint64(b[atBaseOffset:], uint64(o))
}

// SetLeaderEpoch stamps the batch that begins b; the checksum does not cover it.
func SetLeaderEpoch(b []byte, e kafka.Epoch) {
	binary.BigEndian.PutUint32(b[atLeaderEpoch:], uint32(e))
}

// SetAppendTime gives every record of the one whole batch b the time ms, and b
// a new checksum.
func SetAppendTime(b []byte, ms int64) {
	b[atAttributes+1] |= bitLogAppendTime
	setMaxTimestamp(b, ms)
}

func setMaxTimestamp(b []byte, ms int64) {
	binary.BigEndian.PutUint64(b[atMaxTimestamp:], uint64(ms))
	seal(b)
}
