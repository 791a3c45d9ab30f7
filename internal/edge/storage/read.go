package storage

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Slice is a range of bytes of one segment: batches, the first of them holding
// the offset that was asked for, the last perhaps cut short. The bytes stay as
// they are until Close, whatever happens to the log. A zero Slice is empty.
type Slice struct {
	File vfs.File // for sendfile: File.OS(), if that is not nil
	Off  int64
	Len  int64

	pinned *file
}

// Close gives the bytes up. It must be called once for every Slice that Read
// returned.
func (s *Slice) Close() {
	if s.pinned != nil {
		s.pinned.unpin()
		s.pinned = nil
	}
}

// AppendTo appends the bytes to dst.
func (s *Slice) AppendTo(dst []byte) ([]byte, error) {
	if s.Len == 0 {
		return dst, nil
	}
	n := len(dst)
	dst = slices.Grow(dst, int(s.Len))[:n+int(s.Len)]
	if _, err := s.File.ReadAt(dst[n:], s.Off); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return dst[:n], fmt.Errorf("%w: read %s: %w", kerr.KafkaStorageError, s.File.Name(), err)
	}
	return dst, nil
}

// Read finds the batches from the one that holds offset from on, up to maxBytes
// of one segment and none that reaches to or above below. With atLeastOne the
// first batch is whole even if it is larger than maxBytes (KIP-74). It is
// empty at the end of the log or of the bound; an offset outside of the log is
// OFFSET_OUT_OF_RANGE.
func (l *Log) Read(from kafka.Offset, maxBytes int, below kafka.Offset, atLeastOne bool) (Slice, error) {
	l.shape.RLock()
	defer l.shape.RUnlock()
	l.mu.RLock()
	start, end, list := l.start, l.end, l.segments
	size := l.active().size // that of end: more may be appended while we look
	l.mu.RUnlock()
	if from < start || from > end {
		return Slice{}, kerr.Errorf(kerr.OffsetOutOfRange, "offset %d is outside of [%d, %d]", from, start, end)
	}
	if below = min(below, end); from >= below {
		return Slice{}, nil
	}
	for i := holder(list, from); i < len(list) && list[i].base < below; i++ {
		stop := unknownStop
		if below == end && i == len(list)-1 {
			stop = size
		}
		s, err := list[i].slice(from, maxBytes, below, stop, atLeastOne)
		if err != nil || s.Len > 0 {
			return s, l.readError(err)
		}
		// Compaction has removed all behind from in this segment.
	}
	return Slice{}, nil
}

// holder is the index of the segment whose range holds an offset.
func holder(list []*segment, o kafka.Offset) int {
	i, found := slices.BinarySearchFunc(list, o, func(s *segment, o kafka.Offset) int { return int(min(max(s.base-o, -1), 1)) })
	if found {
		return i
	}
	return max(i-1, 0)
}

// unknownStop stands for the position of a bound that has to be looked up.
const unknownStop int64 = -1

// slice finds the batches of one segment, see Read. stop is where the batches
// below the bound end.
func (s *segment) slice(from kafka.Offset, maxBytes int, below kafka.Offset, stop int64, atLeastOne bool) (Slice, error) {
	pos, size, err := s.locate(from)
	if err != nil || pos == size {
		return Slice{}, err
	}
	if stop == unknownStop {
		if stop, _, err = s.locate(below); err != nil {
			return Slice{}, err
		}
	}
	n := min(stop-pos, int64(maxBytes))
	if n < stop-pos && atLeastOne {
		first, err := s.batchSize(pos, size)
		if err != nil {
			return Slice{}, err
		}
		n = max(n, min(first, stop-pos))
	}
	if n <= 0 {
		return Slice{}, nil
	}
	f, err := s.log.pin(pos + n)
	if err != nil {
		return Slice{}, err
	}
	return Slice{File: f, Off: pos, Len: n, pinned: s.log}, nil
}
