//go:build spec

package spec

import (
	"flag"
	"path/filepath"
	"testing"
)

var large = flag.Bool("large", false, "check the large scopes, too")

// Both checkers find exactly the states that the toy is known to have. SPIN counts
// the way into the first state as a transition.
func TestToyHasItsStates(t *testing.T) {
	f := func(c checked, states int) {
		t.Helper()
		if c.broken || c.states != states {
			t.Errorf("%v, broken %v; want %d states", c, c.broken, states)
		}
	}
	dir := source(t)
	f(tla(t, dir, "Toy", "Toy", "", "Restarts=0"), 623)
	f(tla(t, dir, "Toy", "Toy", ""), 2131)
	f(spin(t, dir, "toy", "", "", "E=1", "R=0"), 623)
	f(spin(t, dir, "toy", "", "", "E=1", "R=1"), 2131)
	c := spin(t, dir, "toy", "", "", "E=2", "R=0")
	f(c, 941_139)
	if c.transitions != 15_746_619+1 {
		t.Errorf("%d transitions", c.transitions)
	}
	if *large {
		f(spin(t, dir, "toy", "", "", "E=2", "R=1"), 2_959_752)
		f(spin(t, dir, "toy", "", "", "E=2", "R=2"), 5_439_270)
	}
}

// On shared scopes the states that can be reached, as all show them, are the same
// ones. A difference is a fault of one side.
func TestSameStates(t *testing.T) {
	dir := source(t)
	f := func(core Projection, name string, other Projection) {
		t.Helper()
		missing, beyond := other.Missing(core), core.Missing(other)
		t.Logf("%s: %d states; the core: %d", name, len(other), len(core))
		if len(core) != len(other) || len(missing)+len(beyond) > 0 {
			t.Errorf("%s: only the core reaches %q, the core never reaches %q", name, missing, beyond)
		}
	}
	dot := filepath.Join(t.TempDir(), "dot")
	election := goCore(t, "election")
	if c := tla(t, dir, "Election", "Election", dot); c.broken {
		t.Errorf("Election: %s", tail(c.out))
	}
	f(election, "TLA+", readDot(t, dot))
}
