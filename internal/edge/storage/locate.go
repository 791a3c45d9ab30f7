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

// timeFloor is a position before which no record has a timestamp of at least ts.
func (s *segment) timeFloor(ts int64) (int64, error) {
	e, ok, err := s.times.view().belowTime(ts)
	if err != nil || !ok {
		return 0, err
	}
	at, err := s.offsets.view().floor(e.offset, s.size)
	return at.pos, err
}

// firstRecord finds the first record that is wanted, from a position on. No more
// than limit bytes of a batch are decompressed.
func (s *segment) firstRecord(pos int64, limit int, want func(batch.Record) bool) (found TimeOffset, ok bool, err error) {
	var failed error
	d := batch.NewDecoder(limit)
	_, err = s.scan(pos, s.size, false, func(h batch.Header, pos int64, _ []byte) bool {
		if !want(batch.Record{Offset: h.Last(), Timestamp: h.MaxTimestamp}) {
			return true
		}
		var b []byte
		if b, failed = s.read(pos, h.Size()); failed != nil {
			return false
		}
		for r, err := range d.Records(b) {
			if err != nil {
				failed = errTorn
				return false
			}
			if want(r) {
				found, ok = TimeOffset{r.Offset, r.Timestamp, h.LeaderEpoch}, true
				return false
			}
		}
		return true
	})
	return found, ok, errors.Join(err, failed)
}
