package fetcher

import (
	"testing"
	"time"
)

// Rule: a rate is that of the last minute, in which what is older weighs less, and it
// falls while nothing happens.
func TestARateFollowsTheLastMinute(t *testing.T) {
	var r rate
	now := time.Unix(1000, 0)
	f := func(when string, least, most float64) {
		t.Helper()
		if got := r.perSecond(now); got < least || got > most {
			t.Errorf("%s: %g in a second, want %g to %g", when, got, least, most)
		}
	}
	pass := func(d time.Duration, each time.Duration) {
		for end := now.Add(d); now.Before(end); now = now.Add(each) {
			r.mark(now)
		}
	}
	f("at first", 0, 0)
	pass(6*time.Second, time.Second/2)
	f("two in a second", 2, 2)
	pass(20*time.Second, time.Second/10)
	f("ten in a second, for a while", 3, 6)
	pass(10*time.Minute, time.Second/10)
	f("ten in a second, for long", 9.9, 10.1)
	now = now.Add(time.Minute)
	f("nothing for a minute", 3, 5)
	now = now.Add(time.Hour)
	f("nothing for an hour", 0, 0.001)
}
