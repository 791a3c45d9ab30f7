package storage

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ottla/ottla/internal/base/batch"
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
	l.mu.RUnlock()
	if from < start || from > end {
		return Slice{}, kerr.Errorf(kerr.OffsetOutOfRange, "offset %d is outside of [%d, %d]", from, start, end)
	}
	if below = min(below, end); from >= below {
		return Slice{}, nil
	}
	for i := holder(list, from); i < len(list) && list[i].base < below; i++ {
		s, err := l.readSegment(list[i], from, maxBytes, below, atLeastOne)
		if err != nil || s.Len > 0 || s.pinned != nil {
			return s, err
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

func (l *Log) readSegment(s *segment, from kafka.Offset, maxBytes int, below kafka.Offset, atLeastOne bool) (Slice, error) {
	pos, size, err := l.locate(s, from)
	if err != nil || pos == size {
		return Slice{}, l.readError(err)
	}
	stop, err := l.stopBefore(s, below, size)
	if err != nil {
		return Slice{}, l.readError(err)
	}
	n := min(stop-pos, int64(maxBytes))
	if n < stop-pos && atLeastOne {
		first, err := l.firstSize(s, pos, size)
		if err != nil {
			return Slice{}, l.readError(err)
		}
		n = max(n, min(first, stop-pos))
	}
	if n <= 0 {
		return Slice{}, nil
	}
	f, err := s.log.pin(pos + n)
	if err != nil {
		return Slice{}, l.readError(err)
	}
	return Slice{File: f, Off: pos, Len: n, pinned: s.log}, nil
}

// stopBefore is where the batches end that lie wholly below an offset.
func (l *Log) stopBefore(s *segment, below kafka.Offset, size int64) (int64, error) {
	l.mu.RLock()
	atEnd := below >= l.end && s == l.active()
	l.mu.RUnlock()
	if atEnd {
		return size, nil
	}
	stop, _, err := l.locate(s, below)
	return min(stop, size), err
}

// locate finds the position of the first batch whose last offset is at or above
// an offset, and the size of the segment as of then; the position is the size
// when there is none.
func (l *Log) locate(s *segment, o kafka.Offset) (pos, size int64, err error) {
	l.mu.RLock()
	size = s.size
	near, exact := s.marks.floor(o)
	v := s.offsets.view()
	l.mu.RUnlock()
	if exact && near.offset == o {
		return near.pos, size, nil
	}
	if !exact || near.pos > size {
		near, err = l.floor(v, o, size)
		if err != nil {
			return 0, size, err
		}
	}
	pos, err = s.scan(near.pos, size, false, func(h batch.Header, _ int64, _ []byte) bool { return h.Last() < o })
	return pos, size, err
}

// floor looks in the offset index for where to begin. An entry says that the
// batch at its position ends with its offset, so the batch that holds a larger
// offset lies behind it.
func (l *Log) floor(v view, o kafka.Offset, size int64) (entry, error) {
	e, ok, err := v.floorOffset(o)
	if err != nil || !ok || e.pos < 0 || e.pos >= size {
		return entry{}, err
	}
	return e, nil
}

func (l *Log) firstSize(s *segment, pos, size int64) (int64, error) {
	n := int64(0)
	_, err := s.scan(pos, size, false, func(h batch.Header, _ int64, _ []byte) bool {
		n = int64(h.Size())
		return false
	})
	return n, err
}

// readError makes a failed read answer with KAFKA_STORAGE_ERROR, or with
// CORRUPT_MESSAGE when what was read is no batch. A disk that cannot be read
// fails the log as one that cannot be written.
func (l *Log) readError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTorn):
		return kerr.Errorf(kerr.CorruptMessage, "the log of %s-%d holds bytes that are no batch", l.tp.Topic, l.tp.Partition)
	}
	return l.fail("read", err)
}
