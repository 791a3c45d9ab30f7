package statelog

import (
	"runtime"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

const (
	// maxJoined is the size up to which decisions share a batch.
	maxJoined = 256 << 10
	// maxOutbox bounds the bytes that were decided and the log has not taken. When
	// it is reached a request is refused with REQUEST_TIMED_OUT; one that is larger
	// by itself is taken when nothing else is there.
	maxOutbox = 16 << 20
	// maxAhead is how many batches may wait for their commit before small ones
	// gather behind them. While it waits for disks and followers the requests behind
	// it are read and decided, so that nothing rests; another batch on its way would
	// wait for the same disks, and cost every node a write and a sync.
	maxAhead = 1
)

// outbox holds what was decided and is not in the log yet.
type outbox[S any] struct {
	batches []batch[S]
	bytes   int
	// busy: the log has a batch and has not answered.
	busy bool
	// gathering: somebody lets others decide before he flushes.
	gathering bool
	// handed is where the log ends if it takes all it was given.
	handed kafka.Offset
	// good is the state with all that the log has taken, which ends at goodEnd.
	good    S
	goodEnd kafka.Offset
	voids   int // how often the log refused
}

// batch is what goes to the log at once.
type batch[S any] struct {
	framed [][]byte
	bytes  int
	after  S            // the state with it
	end    kafka.Offset // of the log with it
	steps  []S          // the state after each change in it
}

// idle tells whether there is something to hand over and nobody does.
func (o *outbox[S]) idle() bool { return !o.busy && !o.gathering && len(o.batches) > 0 }

// ready tells whether the first batch is to go to the log now: one that may still
// grow stays behind maxAhead others, whose commit lets it go (see Applied).
func (r *Runner[S, R]) ready() bool {
	full := len(r.outbox.batches) > 1
	return r.outbox.idle() && (full || len(r.taken) < maxAhead)
}

// add takes batches that belong to one change. The first joins the last that is
// there, if both are small.
func (o *outbox[S]) add(change []batch[S]) error {
	size := 0
	for _, b := range change {
		size += b.bytes
	}
	if o.bytes > 0 && o.bytes+size > maxOutbox {
		return kerr.Errorf(kerr.RequestTimedOut, "the log takes no more for the moment: %d bytes wait for it", o.bytes)
	}
	o.bytes += size
	if n := len(o.batches); n > 0 && o.batches[n-1].joins(&change[0]) {
		change = change[1:]
	}
	o.batches = append(o.batches, change...)
	return nil
}

// joins takes another batch in, if it fits.
func (b *batch[S]) joins(next *batch[S]) bool {
	if b.bytes+next.bytes > maxJoined || len(b.framed)+len(next.framed) > MaxBatch {
		return false
	}
	b.framed = append(b.framed, next.framed...)
	b.bytes += next.bytes
	b.after, b.end = next.after, next.end
	b.steps = append(b.steps, next.steps...)
	return true
}

// answer is what somebody who was parked is to be told, once mu is free.
type answer struct {
	done func(error)
	err  error
}

func tell(all []answer) {
	for _, a := range all {
		a.done(a.err)
	}
}

// flush hands the first batch to the log. mu is held, but not while the log has
// the batch. It returns who is to be told what.
func (r *Runner[S, R]) flush() []answer {
	o := &r.outbox
	b := o.batches[0]
	o.batches[0] = batch[S]{}
	if o.batches = o.batches[1:]; len(o.batches) == 0 {
		o.batches = nil
	}
	o.bytes -= b.bytes
	o.busy, o.handed = true, b.end
	epoch, term := r.epoch, r.term
	r.mu.Unlock()
	end, err := r.log.Append(epoch, b.framed)
	r.mu.Lock()
	if r.term != term {
		return nil // who waited has been answered
	}
	o.busy = false
	r.moved.Broadcast()
	if err != nil {
		return r.void(err)
	}
	r.shift(end - b.end)
	o.good, o.goodEnd, o.handed = r.subject.at(b.after, end), end, end
	if end > r.applied {
		r.taken = append(r.taken, taken[S]{end - kafka.Offset(len(b.framed)), end, b.steps})
	}
	return r.due()
}

// due takes out who waited for what is committed and applied. What the log has not
// confirmed is not at the place that was foreseen for it, as long as there may be
// a shift.
func (r *Runner[S, R]) due() (all []answer) {
	sure := min(r.applied, r.outbox.goodEnd)
	n := 0
	for ; n < len(r.parked) && r.parked[n].end <= sure; n++ {
		all = append(all, answer{done: r.parked[n].done})
	}
	if r.parked = r.parked[n:]; len(r.parked) == 0 {
		r.parked = nil
	}
	return all
}

// shift moves what is not in the log further back: records of somebody else, such
// as those of the quorum itself, came in between.
func (r *Runner[S, R]) shift(by kafka.Offset) {
	if by == 0 {
		return
	}
	for i := range r.parked {
		if p := &r.parked[i]; p.end > r.outbox.goodEnd {
			p.begin, p.end = p.begin+by, p.end+by
		}
	}
	for i := range r.outbox.batches {
		b := &r.outbox.batches[i]
		b.end += by
		b.after = r.subject.at(b.after, b.end)
	}
	r.end += by
	r.state = r.subject.at(r.state, r.end)
}

// void takes back what the log has refused, and with it all that was decided on
// top.
func (r *Runner[S, R]) void(why error) (all []answer) {
	o := &r.outbox
	o.voids++
	r.state, r.end, o.handed = o.good, o.goodEnd, o.goodEnd
	o.batches, o.bytes = nil, 0
	keep := slices.IndexFunc(r.parked, func(p parked) bool { return p.end > o.goodEnd })
	if keep < 0 {
		return nil
	}
	for _, p := range r.parked[keep:] {
		all = append(all, answer{p.done, why})
	}
	r.parked = slices.Delete(r.parked, keep, len(r.parked))
	return all
}

// gather flushes after all who can run now had their turn: under load their
// decisions go into the same batch, which spares the log and the followers most of
// what a batch costs. Nobody waits for a timer, and who is alone hardly waits at
// all. mu is held, and released meanwhile.
func (r *Runner[S, R]) gather() []answer {
	term := r.term
	r.outbox.gathering = true
	r.mu.Unlock()
	runtime.Gosched()
	r.mu.Lock()
	if r.term != term {
		return nil
	}
	r.outbox.gathering = false
	if !r.ready() {
		return nil // settle was quicker
	}
	return r.flush()
}

// settle waits until the log has taken everything, then lets the last decision
// change what is beside the state. Nothing is decided meanwhile. mu is held.
func (r *Runner[S, R]) settle(then func()) (all []answer) {
	term, voids := r.term, r.outbox.voids
	r.settling = true
	for r.term == term && (r.outbox.busy || len(r.outbox.batches) > 0) {
		if r.outbox.busy {
			r.moved.Wait()
		} else {
			all = append(all, r.flush()...)
		}
	}
	if r.term != term {
		return all
	}
	r.settling = false
	r.moved.Broadcast()
	if r.outbox.voids == voids {
		then()
	}
	return all
}

// flushLater sees to it that what is left in the outbox gets to the log. mu is
// held.
func (r *Runner[S, R]) flushLater() {
	if r.ready() {
		r.work.Go(r.flushRest)
	}
}

func (r *Runner[S, R]) flushRest() {
	r.mu.Lock()
	for r.ready() {
		if all := r.gather(); len(all) > 0 {
			r.mu.Unlock()
			tell(all)
			r.mu.Lock()
		}
	}
	r.mu.Unlock()
}
