//go:build soak

package networks

import (
	"testing"
	"time"
)

// Rows for which continuous integration has no minutes, or no machine that is quiet
// enough: a pause that the machine makes longer than F may cost an epoch. They have a
// build tag: where they are not played they are not said to have passed.
func TestPausesOfAMinuteCostNoEpoch(t *testing.T) {
	const count = 12
	for _, r := range []row{
		{name: "the leader stands still for 1.5 s every 5 s", play: func(t *testing.T, c cluster, led view) {
			pauses(c.node(led.leader), count)
		}},
		{name: "the leader stands still for nearly its fetch timeout, again and again", play: func(t *testing.T, c cluster, led view) {
			l := c.node(led.leader)
			for range count {
				l.Pause()
				rest(1850 * time.Millisecond)
				l.Continue()
				rest(2 * time.Second)
			}
		}},
		{name: "a follower stands still for 1.5 s every 5 s for a minute", play: func(t *testing.T, c cluster, led view) {
			pauses(c.follower(led), count)
		}},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.run(t)
		})
	}
}
