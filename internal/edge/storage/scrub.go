package storage

import (
	"errors"
	"io"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// Damage is a place in a segment that is no longer appended to, whose bytes are
// not what was written: no whole batches with right checksums and offsets.
type Damage struct {
	Segment kafka.Offset // the base offset of the segment
	// [From, To) are the offsets that may lie there: from the end of the last good
	// batch before it to the next good one, or the end of the segment.
	From, To kafka.Offset
	// Position and Bytes say where it lies in the segment's file.
	Position, Bytes int64
}

// Scrub reads the first segment that begins at from or above, and gives what is
// damaged in it and where to go on; NoOffset when there is no such segment. The
// active one is left out, as others read and write it all day. Before so many bytes
// are read pace is called, which may wait; an error of it is given back.
//
// A header's leader epoch is not covered by any checksum and not looked at.
func (l *Log) Scrub(from kafka.Offset, pace func(bytes int) error) (found []Damage, next kafka.Offset, err error) {
	s, ok, err := l.sealedFrom(from)
	if err != nil || !ok {
		return nil, kafka.NoOffset, l.readError(err)
	}
	defer s.log.unpin()
	f, err := s.log.acquire()
	if err != nil {
		return nil, kafka.NoOffset, l.readError(err)
	}
	defer s.log.release()
	x := examination{sealedSegment: s, f: f, pace: pace, expect: s.base}
	if err := x.run(); err != nil {
		if x.stopped != nil {
			return nil, kafka.NoOffset, err
		}
		return nil, kafka.NoOffset, l.readError(err)
	}
	return x.found, s.next, nil
}

// sealedSegment is a segment that is no longer appended to, with its file pinned.
type sealedSegment struct {
	source
	next    kafka.Offset // where the segment behind it begins
	offsets view
}

// sealedFrom takes hold of the first segment that begins at an offset or above.
func (l *Log) sealedFrom(from kafka.Offset) (sealedSegment, bool, error) {
	l.shape.RLock()
	defer l.shape.RUnlock()
	if err := l.usable(); err != nil {
		return sealedSegment{}, false, err
	}
	l.mu.RLock()
	list := l.segments
	l.mu.RUnlock()
	for i, s := range list[:len(list)-1] {
		if s.base < from {
			continue
		}
		if _, err := s.log.pin(s.size); err != nil {
			return sealedSegment{}, false, err
		}
		l.mu.RLock()
		defer l.mu.RUnlock()
		return sealedSegment{source{s, s.size, s.log}, list[i+1].base, s.offsets.view()}, true, nil
	}
	return sealedSegment{}, false, nil
}

// examination reads one segment.
type examination struct {
	sealedSegment
	f       io.ReaderAt
	pace    func(bytes int) error
	stopped error // what pace said

	expect kafka.Offset // no batch may begin below
	before mark         // the last good batch: where it lies, and what expect was there
	found  []Damage
}

func (x *examination) run() error {
	for pos := int64(0); pos < x.size; {
		at, err := scan(x.f, pos, x.size, true, x.good)
		switch {
		case x.stopped != nil:
			return x.stopped
		case err != nil && !errors.Is(err, errTorn):
			return err
		case at == x.size:
			return nil
		}
		from := at
		if overlaps, err := x.overlaps(at); err != nil {
			return err
		} else if overlaps {
			from, x.expect = x.before.pos, x.before.offset
		}
		resume, offset, err := x.behind(at)
		if err != nil {
			return err
		}
		x.found = append(x.found, Damage{Segment: x.base, From: x.expect, To: offset, Position: from, Bytes: resume - from})
		pos, x.expect = resume, offset
	}
	return nil
}

// good takes a batch that is as it was written.
func (x *examination) good(h batch.Header, pos int64, b []byte) bool {
	if x.stopped = x.pace(len(b)); x.stopped != nil || !x.sound(h, b) {
		return false
	}
	x.before, x.expect = mark{x.expect, pos}, h.End()
	return true
}

// overlaps tells of a batch with a right checksum that begins below the end of the
// one before. No checksum covers where a batch begins, so either may be the wrong one.
func (x *examination) overlaps(at int64) (yes bool, err error) {
	if at == 0 {
		return false, nil
	}
	_, err = scan(x.f, at, x.size, true, func(h batch.Header, _ int64, b []byte) bool {
		yes = batch.CheckCRC(b) && h.BaseOffset < x.expect
		return false
	})
	if errors.Is(err, errTorn) {
		err = nil
	}
	return yes, err
}

func (x *examination) sound(h batch.Header, b []byte) bool {
	return batch.CheckCRC(b) && h.BaseOffset >= x.expect && h.End() > h.BaseOffset && h.End() <= x.next
}

// behind is where the first good batch behind a damaged place lies: where the header
// there says, or else where the index says, as no checksum covers a batch's length.
// Without any it is the end of the segment.
func (x *examination) behind(at int64) (pos int64, offset kafka.Offset, err error) {
	h, _, err := (&scanner{f: x.f, end: x.size, buf: make([]byte, batch.HeaderSize)}).next(at)
	if err == nil {
		if offset, ok, err := x.begins(at + int64(h.Size())); ok || err != nil {
			return at + int64(h.Size()), offset, err
		}
	}
	for i := range x.offsets.n + len(x.offsets.pending) {
		e, err := x.offsets.entry(i)
		if err != nil {
			return 0, 0, err
		}
		if e.pos <= at || e.pos >= x.size {
			continue
		}
		if offset, ok, err := x.begins(e.pos); ok || err != nil {
			return e.pos, offset, err
		}
	}
	return x.size, x.next, nil
}

// begins tells whether a good batch begins at a position, and with which offset.
func (x *examination) begins(pos int64) (offset kafka.Offset, ok bool, err error) {
	if pos == x.size {
		return x.next, true, nil
	}
	_, err = scan(x.f, pos, x.size, true, func(h batch.Header, _ int64, b []byte) bool {
		offset, ok = h.BaseOffset, x.sound(h, b)
		return false
	})
	if errors.Is(err, errTorn) {
		err = nil
	}
	return offset, ok, err
}

// entry is one of the index, those that wait to be written included.
func (v view) entry(i int) (entry, error) {
	if i >= v.n {
		return v.pending[i-v.n], nil
	}
	return v.at(i)
}
