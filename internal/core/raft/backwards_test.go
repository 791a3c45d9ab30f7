package raft

import (
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// A step whose time lies before that of the last one happens at the time of the
// last one: no timer begins in the past.
func TestAClockThatGoesBackStandsStill(t *testing.T) {
	g := newGuarded(t, 0)
	g.now = kafka.Instant(10 * time.Second)
	g.follows(2)
	was := g.now
	g.now = kafka.Instant(time.Second)
	g.follows(3)
	if g.last.Deadline <= was {
		t.Errorf("its next deadline is at %v, and it was %v already", time.Duration(g.last.Deadline), time.Duration(was))
	}
}
