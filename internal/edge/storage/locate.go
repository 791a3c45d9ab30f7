package storage

import (
	"errors"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// locate finds the position of the first batch whose last offset is at or above
// an offset, and the size of the segment as of then; the position is the size
// when there is none.
func (s *segment) locate(o kafka.Offset) (pos, size int64, err error) {
	s.mu.RLock()
	size = s.size
	near, known := s.marks.floor(o)
	v := s.offsets.view()
	s.mu.RUnlock()
	if known && near.offset == o {
		return near.pos, size, nil
	}
	if !known || near.pos > size {
		if near, err = v.floor(o, size); err != nil {
			return 0, size, err
		}
	}
	pos, err = s.scan(near.pos, size, false, func(h batch.Header, _ int64, _ []byte) bool { return h.Last() < o })
	return pos, size, err
}

// floor looks in an offset index for where to begin. An entry says that the
// batch at its position ends with its offset, so the batch that holds a larger
// offset lies behind it.
func (v view) floor(o kafka.Offset, size int64) (entry, error) {
	e, ok, err := v.floorOffset(o)
	if err != nil || !ok || e.pos < 0 || e.pos >= size {
		return entry{}, err
	}
	return e, nil
}

// batchSize is the size of the batch at a position.
func (s *segment) batchSize(pos, size int64) (int64, error) {
	n := int64(0)
	_, err := s.scan(pos, size, false, func(h batch.Header, _ int64, _ []byte) bool {
		n = int64(h.Size())
		return false
	})
	return n, err
}

// firstAt finds the first record of a segment with a timestamp of at least ts,
// from an offset on. No more than limit bytes of a batch are decompressed.
func (s *segment) firstAt(ts int64, start kafka.Offset, limit int) (found TimeOffset, ok bool, err error) {
	s.mu.RLock()
	size, times, offsets := s.size, s.times.view(), s.offsets.view()
	s.mu.RUnlock()
	pos := int64(0) // before it no record is so young
	e, there, err := times.belowTime(ts)
	if err == nil && there {
		var near entry
		near, err = offsets.floor(e.offset, size)
		pos = near.pos
	}
	if err != nil {
		return TimeOffset{}, false, err
	}
	wanted := func(r batch.Record) bool { return r.Timestamp >= ts && r.Offset >= start }
	return s.firstRecord(pos, size, limit, wanted)
}

// firstRecord finds the first record that is wanted in bytes [pos, size).
func (s *segment) firstRecord(pos, size int64, limit int, wanted func(batch.Record) bool) (found TimeOffset, ok bool, err error) {
	var failed error
	_, err = s.scan(pos, size, false, func(h batch.Header, pos int64, _ []byte) bool {
		if !wanted(batch.Record{Offset: h.Last(), Timestamp: h.MaxTimestamp}) {
			return true
		}
		var b []byte
		if b, failed = s.read(pos, h.Size()); failed != nil {
			return false
		}
		for r, err := range batch.Shapes(b, limit) {
			if err != nil {
				failed = errTorn
				return false
			}
			if wanted(r) {
				found, ok = TimeOffset{r.Offset, r.Timestamp, h.LeaderEpoch}, true
				return false
			}
		}
		return true
	})
	return found, ok, errors.Join(err, failed)
}
