//go:build soak

package networks

import "testing"

// Rows for which continuous integration has no minutes. They have a build tag: where
// they are not played they are not said to have passed.
func TestPausesOfAMinuteCostNoEpoch(t *testing.T) {
	const count = 12
	for _, r := range []row{
		{name: "the leader stands still for 1.5 s every 5 s", play: func(t *testing.T, c cluster, led view) {
			pauses(c.node(led.leader), count)
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
