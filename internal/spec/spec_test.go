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
	work := t.TempDir()
	election := goCore(t, "election")
	if c := tla(t, dir, "Election", "Election", filepath.Join(work, "dot")); c.broken {
		t.Errorf("Election: %s", tail(c.out))
	}
	f(election, "election, TLA+", readDot(t, filepath.Join(work, "dot")))
	g := func(scope string, core Projection, defines ...string) {
		t.Helper()
		file := filepath.Join(work, "shown")
		if c := spin(t, dir, "quorum", "", file, defines...); c.broken {
			t.Errorf("%s: %s", scope, tail(c.out))
		}
		f(core, scope+", SPIN", readLines(t, file))
	}
	g("election", election, "N=3", "E=2", "T=2", "MUTE", "ATONCE")
	crash, copies := "election, a crash", "replication between two, a crash"
	g(crash, goCore(t, crash), "N=3", "E=2", "T=2", "C=1", "MUTE", "ATONCE")
	g(copies, goCore(t, copies), "N=2", "E=2", "T=1", "C=1", "P=1")
}

// The rules hold in every state of these scopes.
func TestQuorumHolds(t *testing.T) {
	total := 0
	f := func(defines ...string) {
		t.Helper()
		c := spin(t, source(t), "quorum", "", "", defines...)
		if total += c.states; c.broken {
			t.Errorf("%v: %s", defines, tail(c.out))
		}
	}
	f("N=2", "E=2", "T=2", "C=2", "P=1")
	f("N=3", "E=2", "T=3", "MUTE", "ATONCE")
	if *large {
		f("N=3", "E=1", "T=1", "P=1")
		f("N=3", "E=2", "T=2", "P=1", "ATONCE")
		f("N=3", "E=3", "T=4", "MUTE", "ATONCE")
		f("N=2", "E=3", "T=3", "C=2", "P=2")
	}
	t.Logf("%d states of the quorum", total)
	if total < 1_000_000 {
		t.Errorf("only %d states", total)
	}
}

// In the end there is a leader, and nobody stays prospective. The stuck case of P11
// in docs/kip-996.md is freed by check quorum, and is stuck without it.
func TestQuorumGetsOn(t *testing.T) {
	f := func(stuck bool, claim string, defines ...string) {
		t.Helper()
		if c := spin(t, source(t), "live", claim, "", defines...); c.broken != stuck {
			t.Errorf("%s %v: broken %v: %s", claim, defines, c.broken, tail(c.out))
		}
	}
	f(false, "led", "STUCK")
	f(true, "led", "STUCK", "NOCHECK")
	f(false, "led", "F=3")
	f(false, "led", "F=3", "LONGER")
	f(false, "calm", "F=3")
	if *large {
		f(false, "led", "F=5")
		f(false, "led", "F=5", "LONGER")
		f(false, "calm", "F=5")
	}
}

// Voters come and go, one at a time, and nothing committed is lost.
func TestVotersChange(t *testing.T) {
	f := func(constants ...string) {
		t.Helper()
		if c := tla(t, source(t), "Voters", "Voters", "", constants...); c.broken || c.states < 1000 {
			t.Errorf("%v: %s", constants, tail(c.out))
		}
	}
	f()
	if *large {
		f("Node={n1,n2,n3,n4}", "First={n1,n2,n3}", "Votes=1")
		f("Changes=2", "Epochs=2")
	}
}
