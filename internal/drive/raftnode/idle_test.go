package raftnode

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Rule: the ratio is about the time since it was asked for last, a wait that goes on
// included.
func TestTheIdleRatioIsThatOfTheTimeSinceTheLastLook(t *testing.T) {
	var i idleness
	f := func(now kafka.Instant, want float64) {
		t.Helper()
		if got := i.ratio(now); got != want {
			t.Errorf("at %d: %g, want %g", now, got, want)
		}
	}
	i.begin(0)
	i.end(60)
	f(100, 0.6)
	f(100, 0.6) // no time has passed
	i.begin(150)
	f(200, 0.5)
	f(300, 1)
	i.end(310)
	f(400, 0.1)
	f(500, 0)
}
