package group

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// maxTombstones is how many tombstones go into one unit, so that a unit fits
// into a batch whatever a group holds.
const maxTombstones = 1000

// deleteOffsets removes offsets that nobody in the group needs (KIP-496).
func (s *Shard) deleteOffsets(r *DeleteOffsets) {
	g := s.groups[r.Group]
	switch {
	case r.Group == "":
		s.answer(r, kerr.InvalidGroupId)
		return
	case g == nil || g.state == Dead || s.isForeign(r.Group):
		s.answer(r, kerr.GroupIdNotFound)
		return
	case g.state != Empty && g.protocolType != consumerProtocolType:
		// What its members use cannot be told.
		s.answer(r, kerr.NonEmptyGroup)
		return
	}
	var gone []kafka.TopicPartition
	for i := range r.Offsets {
		d := &r.Offsets[i]
		switch {
		case d.Err != kerr.None: // refused before it came here
		case g.listens(d.Topic):
			d.Err = kerr.GroupSubscribedToTopic
		case g.offsets[d.TopicPartition] != nil && !slices.Contains(gone, d.TopicPartition):
			gone = append(gone, d.TopicPartition)
		}
	}
	if len(gone) == 0 {
		s.answer(r, kerr.None)
		return
	}
	s.erase(&erasure{g: g, request: r}, gone)
}

// delete removes a group that has no members, with all it holds.
func (s *Shard) delete(r *Delete) {
	g := s.groups[r.Group]
	switch {
	case g == nil || g.state == Dead || s.isForeign(r.Group):
		s.answer(r, kerr.GroupIdNotFound)
	case g.state != Empty:
		s.answer(r, kerr.NonEmptyGroup)
	default:
		s.erase(&erasure{g: g, request: r, whole: true}, g.partitions())
	}
}

// topicsDeleted removes the offsets of topics that are gone from all groups.
func (s *Shard) topicsDeleted(topics []string) {
	for _, id := range s.ids() {
		g := s.groups[id]
		if g.state == Dead {
			continue
		}
		gone := slices.DeleteFunc(g.partitions(), func(tp kafka.TopicPartition) bool {
			return !slices.Contains(topics, tp.Topic)
		})
		if len(gone) > 0 {
			s.erase(&erasure{g: g}, gone)
		}
	}
}

// erasure is the removal of offsets, and of their whole group perhaps, in one
// or more units.
type erasure struct {
	g       *classic
	request Request // nil: nobody waits
	whole   bool    // the group goes too
	changed int64   // when the group entered Empty, for the way back
	units   int     // not ended yet
	err     kerr.Code
	done    bool // answered
}

// erase appends the tombstones. The group counts as Dead until they are
// committed if it goes as a whole.
func (s *Shard) erase(e *erasure, gone []kafka.TopicPartition) {
	if e.whole {
		e.changed = e.g.changed
		for _, p := range e.g.pending { // any order leaves the same timers
			s.timers.stop(&p.session)
		}
		clear(e.g.pending)
		e.g.enter(Dead, s.now)
	}
	for first := true; first || len(gone) > 0; first = false {
		n := min(len(gone), maxTombstones)
		u := &eraseUnit{e: e, gone: gone[:n]}
		gone = gone[n:]
		e.units++
		s.open(u)
		for _, tp := range u.gone {
			e.g.offsets[tp].inflight++
			s.dropOffset(e.g.id, tp)
		}
		if e.whole && len(gone) == 0 {
			s.dropGroup(e.g.id)
		}
	}
}

// eraseUnit is one unit of an erasure.
type eraseUnit struct {
	e    *erasure
	gone []kafka.TopicPartition
}

func (u *eraseUnit) committed(s *Shard) {
	for _, tp := range u.gone {
		o := u.e.g.offsets[tp]
		o.inflight--
		o.set = false
		u.e.g.settle(tp, o)
	}
	u.e.ended(s)
}

func (u *eraseUnit) failed(s *Shard, err kerr.Code) {
	for _, tp := range u.gone {
		o := u.e.g.offsets[tp]
		o.inflight--
		u.e.g.settle(tp, o)
	}
	u.e.err = err
	u.e.ended(s)
}

func (u *eraseUnit) late(s *Shard, err kerr.Code) { u.e.answer(s, err) }

// ended counts a unit; after the last one the group is gone, or is back with
// what could not be removed.
func (e *erasure) ended(s *Shard) {
	e.units--
	if e.units > 0 {
		return
	}
	switch {
	case e.whole && e.err == kerr.None:
		s.forget(e.g)
	case e.whole:
		e.g.state, e.g.previous, e.g.changed = Empty, Dead, e.changed
	}
	e.answer(s, e.err)
}

func (e *erasure) answer(s *Shard, err kerr.Code) {
	if e.request != nil && !e.done {
		e.done = true
		s.answer(e.request, err)
	}
}
