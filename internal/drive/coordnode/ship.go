package coordnode

import (
	"sync"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
)

// shipper packs the records of a partition into batches and sends one at a
// time: what comes while one is on its way goes into the next.
// Invariant: units leave, and end, in the order of their numbers.
type shipper struct {
	codec  batch.Codec
	open   *batch.Builder // nil: nothing collected
	units  span           // of the open batch
	ready  []parcel
	bytes  int // in ready
	flying bool
}

// span are units from first to last.
type span struct{ first, last group.Seq }

// parcel is a batch that is ready to go, or a transaction marker, or units that
// cannot go at all.
type parcel struct {
	span
	batch  []byte
	marker *group.EndTransaction
	err    error
}

// landed is how an append ended.
type landed struct {
	span
	err error
}

// event tells the shard.
func (l landed) event() group.Event {
	if l.err == nil {
		return group.Committed{Through: l.last}
	}
	return group.Failed{From: l.first, Through: l.last, Err: l.err}
}

// builders keep their buffers between batches of all partitions, so that an
// idle partition holds none.
var builders = sync.Pool{New: func() any { return batch.NewBuilder(batch.Options{}) }}

// recordOverhead is more than a record needs beside key and value.
const recordOverhead = 40

// load packs records into the open batch; limit is the largest batch.
func (s *shipper) load(records []group.Record, nowMs int64, limit int) {
	for len(records) > 0 {
		n, size := unitOf(records)
		unit := records[:n]
		records = records[n:]
		seq := unit[0].Seq
		if marker := unit[0].Marker; marker != nil {
			s.seal()
			s.ready = append(s.ready, parcel{span: span{seq, seq}, marker: marker})
			continue
		}
		if s.open != nil && s.open.Size()+size > limit {
			s.seal()
		}
		if size+batch.HeaderSize > limit {
			s.seal()
			tooLarge := kerr.Errorf(kerr.MessageTooLarge, "%d records of %d bytes do not fit into a batch of %d", n, size, limit)
			s.ready = append(s.ready, parcel{span: span{seq, seq}, err: tooLarge})
			continue
		}
		s.pack(unit, nowMs)
	}
}

// unitOf measures the first unit: its records and an upper bound of its bytes.
func unitOf(records []group.Record) (n, size int) {
	for n < len(records) && records[n].Seq == records[0].Seq {
		size += len(records[n].Key) + len(records[n].Value) + recordOverhead
		n++
	}
	return n, size
}

func (s *shipper) pack(unit []group.Record, nowMs int64) {
	if s.open == nil {
		s.open = builders.Get().(*batch.Builder)
		s.open.Reset(batch.Options{Codec: s.codec})
		s.units.first = unit[0].Seq
	}
	s.units.last = unit[0].Seq
	for _, r := range unit {
		s.open.Add(nowMs, r.Key, r.Value)
	}
}

// seal ends the open batch.
func (s *shipper) seal() {
	if s.open == nil {
		return
	}
	b := s.open.Build(nil)
	s.ready = append(s.ready, parcel{span: s.units, batch: b})
	s.bytes += len(b)
	builders.Put(s.open)
	s.open = nil
}

// next takes the parcel that is to go, if nothing is on its way.
func (s *shipper) next() (parcel, bool) {
	if s.flying {
		return parcel{}, false
	}
	if len(s.ready) == 0 {
		s.seal()
	}
	if len(s.ready) == 0 {
		s.ready = nil
		return parcel{}, false
	}
	first := s.ready[0]
	s.ready[0] = parcel{}
	s.ready = s.ready[1:]
	s.bytes -= len(first.batch)
	return first, true
}

// waiting is how many bytes have not been handed to the log.
func (s *shipper) waiting() int {
	n := s.bytes
	if s.open != nil {
		n += s.open.Size()
	}
	return n
}
