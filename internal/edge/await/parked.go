package await

import (
	"sync/atomic"
	"time"
)

// Outcome is how a wait ended.
type Outcome uint8

// The ways a wait can end.
const (
	Satisfied Outcome = iota + 1 // try said so
	Expired                      // the time was up
	Cancelled                    // nobody wants it any more
)

// Parked is something that waits. It is embedded in the caller's struct, which
// the garbage collector takes once the lists have let go of it.
type Parked struct {
	timers   *Timers
	deadline Deadline
	try      func() bool
	finish   func(Outcome)
	state    atomic.Uint32
}

// The states of a Parked. Poke moves between waiting, trying and poked, so that
// a poke during a try is not lost. An end during a try is left to the one who
// tries: try and finish never overlap.
const (
	waiting uint32 = iota
	trying
	poked
	expiring
	cancelling
	finished
)

// Init says how to tell that the wait is over, and what to do then. try is
// called any number of times until it returns true, by one goroutine at a time;
// finish is called once, and not while a try runs. Both are called without any
// lock of this package held. A Parked is used for one wait.
func (p *Parked) Init(t *Timers, try func() bool, finish func(Outcome)) {
	p.timers, p.try, p.finish = t, try, finish
}

// Start sets the time limit and tries once, for what happened before the
// caller stood in all lists. The lists come first, then Start.
func (p *Parked) Start(limit time.Duration) {
	p.timers.Start(&p.deadline, limit, p.expire)
	p.Poke()
	if p.Finished() { // it may have finished before its deadline was there to be stopped
		p.timers.Stop(&p.deadline)
	}
}

// Poke tries, because something it waits for has moved.
func (p *Parked) Poke() {
	for {
		switch p.state.Load() {
		case poked, expiring, cancelling, finished:
			return
		case trying: // whoever tries will do it once more
			if p.state.CompareAndSwap(trying, poked) {
				return
			}
		case waiting:
			if p.state.CompareAndSwap(waiting, trying) && p.tried() {
				return
			}
		}
	}
}

// tried runs try as often as it was poked meanwhile.
func (p *Parked) tried() bool {
	for {
		if p.try() {
			p.conclude(Satisfied)
			return true
		}
		switch {
		case p.state.CompareAndSwap(trying, waiting):
			return true
		case p.state.CompareAndSwap(poked, trying):
		case p.state.Load() == expiring:
			p.conclude(Expired)
			return true
		default:
			p.conclude(Cancelled)
			return true
		}
	}
}

// Cancel ends the wait because nobody wants it any more.
func (p *Parked) Cancel() { p.end(cancelling, Cancelled) }

func (p *Parked) expire() { p.end(expiring, Expired) }

func (p *Parked) end(mark uint32, how Outcome) {
	for {
		switch s := p.state.Load(); s {
		case waiting:
			if p.state.CompareAndSwap(waiting, finished) {
				p.conclude(how)
				return
			}
		case trying, poked:
			if p.state.CompareAndSwap(s, mark) {
				return
			}
		default:
			return
		}
	}
}

// conclude is called by the one who moved the state out of waiting.
func (p *Parked) conclude(how Outcome) {
	p.state.Store(finished)
	p.timers.Stop(&p.deadline)
	p.finish(how)
}

// Finished tells whether the wait is over; lists drop what is.
func (p *Parked) Finished() bool { return p.state.Load() >= expiring }
