package sim

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// clock is a process's own time, which begins when the process does. It may run
// too fast or too slow, and jump.
type clock struct {
	w     *World
	since kafka.Instant
	speed int64         // in thousandths
	ahead kafka.Instant // what jumps have added
	wrong int64         // seconds of its date, in a scene
	// due is the core's deadline by this clock, deadline the same by the world's.
	due, deadline kafka.Instant
}

func (c *clock) start(w *World) { c.w, c.since, c.ahead = w, w.now, 0 }

// local is the node's own time.
func (c *clock) local() kafka.Instant {
	return (c.w.now-c.since)*kafka.Instant(c.speed)/1000 + c.ahead
}

// global is when the node's clock shows an instant.
func (c *clock) global(at kafka.Instant) kafka.Instant {
	if at == kafka.Never {
		return at
	}
	return c.since + ((at-c.ahead)*1000+kafka.Instant(c.speed)-1)/kafka.Instant(c.speed)
}

// wake sets the core's deadline.
func (c *clock) wake(due kafka.Instant) { c.due, c.deadline = due, c.global(due) }

// jump moves a node's clock, d may be negative. A core that has seen a later time
// stands still until its clock is there again.
func (n *node) jump(d time.Duration) {
	n.ahead += kafka.Instant(d) // Add is for later times only
	n.wake(n.due)
	n.w.note("-- the clock of %d jumps by %v", n.id, d)
	n.arm()
}

// backJump is how far a clock jumps back at most.
const backJump = 3 * time.Second

// jumpOf lets a clock jump: ahead up to half a minute, back less.
func (w *World) jumpOf(n *node) bool {
	if !n.up {
		return false
	}
	if w.rng.IntN(2) == 0 {
		n.jump(-w.upTo(backJump))
	} else {
		n.jump(w.upTo(pick(w.rng, time.Second, 5*time.Second, 30*time.Second)))
	}
	return true
}

// today is the date at which all runs begin, in seconds since 1970.
const today = 1_780_000_000

// date is what a process takes for the date when it starts.
func (w *World) date(n *node) int64 {
	right := today + int64(time.Duration(w.now)/time.Second)
	if w.stage != nil {
		return right + n.wrong
	}
	if !w.chance(1, 2, Skewed) {
		return right
	}
	const year = 365 * 24 * 3600
	wrong := pick(w.rng, right-3600, right+3600, right-year, right+10*year, right-50*year, 0)
	w.note("-- %d takes %d s for the date, %d too many", n.id, wrong, wrong-right)
	return wrong
}
