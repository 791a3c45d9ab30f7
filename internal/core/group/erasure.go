package group

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// maxTombstones is how many tombstones go into one unit, so that a unit fits
// into a batch whatever a group holds.
const maxTombstones = 1000

// erasure is the removal of offsets, and of their whole group perhaps, in one
// or more units.
type erasure struct {
	eraser  *eraser
	g       *classic
	request Request // nil: nobody waits
	whole   bool    // the group goes too
	changed int64   // when the group entered Empty, for the way back
	units   int     // not ended yet
	err     kerr.Code
	done    bool // answered
}

// ended counts a unit; after the last one the group is gone, or is back with
// what could not be removed.
func (x *erasure) ended() {
	x.units--
	if x.units > 0 {
		return
	}
	switch {
	case x.whole && x.err == kerr.None:
		x.eraser.groups.forget(x.g)
	case x.whole:
		x.g.state, x.g.previous, x.g.changed = Empty, Dead, x.changed
	}
	x.answer(x.err)
}

func (x *erasure) answer(err kerr.Code) {
	if x.request != nil && !x.done {
		x.done = true
		x.eraser.desk.answer(x.request, err)
	}
}

// eraseUnit is one unit of an erasure.
type eraseUnit struct {
	of   *erasure
	gone []kafka.TopicPartition
}

func (u *eraseUnit) committed() { u.end(func(o *offset) { o.set = false }) }

func (u *eraseUnit) failed(err kerr.Code) {
	u.of.err = err
	u.end(func(*offset) {})
}

func (u *eraseUnit) end(apply func(*offset)) {
	held := u.of.g.offsets
	for _, tp := range u.gone {
		o := held[tp]
		o.inflight--
		apply(o)
		held.settle(tp, o)
	}
	u.of.ended()
}

func (u *eraseUnit) late(err kerr.Code) { u.of.answer(err) }
