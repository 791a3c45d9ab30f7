package group

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Timers fire when they are due, equal ones in the order in which they were
// set; one that was stopped does not, and one may set itself anew.
func TestTimers(t *testing.T) {
	var ts timers
	var fired []string
	named := func(name string) *timer { return &timer{fire: func() { fired = append(fired, name) }} }
	a, b, c, stopped := named("a"), named("b"), named("c"), named("stopped")
	again := &timer{}
	again.fire = func() {
		fired = append(fired, "again")
		if again.at < 9 {
			ts.set(again, 9)
		}
	}
	ts.set(a, 5)
	ts.set(b, 5)
	ts.set(stopped, 1)
	ts.set(c, 20)
	ts.set(c, 2)
	ts.set(again, 3)
	ts.stop(stopped)
	ts.stop(stopped)
	if ts.next() != 2 {
		t.Errorf("next at %v", ts.next())
	}
	ts.run(4)
	ts.run(10)
	if want := []string{"c", "again", "a", "b", "again"}; !slices.Equal(fired, want) {
		t.Errorf("%q fired, want %q", fired, want)
	}
	if ts.next() != kafka.Never {
		t.Errorf("next at %v", ts.next())
	}
}
