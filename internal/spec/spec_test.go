//go:build spec

package spec

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"
)

var large = flag.Bool("large", false, "check the large scopes, too")

// Both checkers find exactly the states that the toy is known to have. SPIN counts
// the way into the first state as a transition.
func TestToyHasItsStates(t *testing.T) {
	t.Parallel()
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
	}
	t.Logf("ledger: spec: the toy, in TLA+ and in SPIN | as many states as it has, up to %d", c.states)
}

// On shared scopes the states that can be reached, as all show them, are the same
// ones. A difference is a fault of one side.
func TestSameStates(t *testing.T) {
	t.Parallel()
	dir := source(t)
	same := func(t *testing.T, core, other Projection) {
		t.Helper()
		missing, beyond := other.Missing(core), core.Missing(other)
		if len(core) != len(other) || len(missing)+len(beyond) > 0 {
			t.Fatalf("%d states, and %d of the core; only the core reaches %q, the core never reaches %q",
				len(other), len(core), missing, beyond)
		}
		t.Logf("ledger: spec: %s | the same %d projected states as the core", strings.TrimPrefix(t.Name(), "TestSameStates/"), len(core))
	}
	inTLA := func(scope, module string, constants ...string) {
		t.Run(scope+" in TLA+", func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "dot")
			if c := tla(t, dir, module, module, file, constants...); c.broken {
				t.Fatal(tail(c.out))
			}
			same(t, goCore(t, scope), readDot(t, file))
		})
	}
	inSPIN := func(scope string, defines ...string) {
		t.Run(scope+" in SPIN", func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "shown")
			if c := spin(t, dir, "quorum", "", file, defines...); c.broken {
				t.Fatal(tail(c.out))
			}
			same(t, goCore(t, scope), readLines(t, file))
		})
	}
	inTLA("election", "Election")
	inSPIN("election", "N=3", "E=2", "T=2", "MUTE", "ATONCE")
	inTLA("election, one old voter", "Election", "Old={n1}")
	inTLA("election, two old voters", "Election", "Old={n1,n2}")
	inSPIN("election, a crash", "N=3", "E=2", "T=2", "C=1", "MUTE", "ATONCE")
	inSPIN("replication between two, a crash", "N=2", "E=2", "T=1", "C=1", "P=1")
	inTLA("replication between three", "Log")
	inTLA("one voter becomes two, and then the other one", "Reconfiguration",
		"Waits=FALSE", "Node={n1,n2}", "First={n1}", "About={n1,n2}", "Changes=2")
	inTLA("a voter is added to two", "Reconfiguration", "Waits=FALSE", "First={n1,n2}", "About={n3}")
	inTLA("a follower of three is removed", "Reconfiguration", "Waits=FALSE", "About={n3}")
	if *large {
		inTLA("the leader of three is removed", "Reconfiguration", "Waits=FALSE", "About={n1}")
	}
}

// The rules hold in every state of these scopes.
func TestQuorumHolds(t *testing.T) {
	t.Parallel()
	total, scopes := 0, 0
	f := func(defines ...string) {
		t.Helper()
		c := spin(t, source(t), "quorum", "", "", defines...)
		total, scopes = total+c.states, scopes+1
		if c.broken {
			t.Errorf("%v: %s", defines, tail(c.out))
		}
	}
	f("N=2", "E=2", "T=2", "C=2", "P=1")
	f("N=3", "E=2", "T=3", "MUTE", "ATONCE")
	if *large {
		f("N=3", "E=1", "T=1", "P=1")
		f("N=3", "E=3", "T=3", "MUTE", "ATONCE")
		f("N=2", "E=2", "T=2", "C=2", "P=2")
		f("N=2", "E=3", "T=3", "C=2", "P=1")
	}
	t.Logf("ledger: spec: elections and the log in SPIN | %d states in %d scopes, no rule broken", total, scopes)
	if total < 1_000_000 {
		t.Errorf("only %d states", total)
	}
}

// In the end there is a leader, and nobody stays prospective. The stuck case of P11
// in docs/kip-996.md is freed by check quorum, and is stuck without it.
func TestQuorumGetsOn(t *testing.T) {
	t.Parallel()
	total, scopes := 0, 0
	f := func(stuck bool, claim string, defines ...string) {
		t.Helper()
		c := spin(t, source(t), "live", claim, "", defines...)
		total, scopes = total+c.states, scopes+1
		if c.broken != stuck {
			t.Errorf("%s %v: broken %v: %s", claim, defines, c.broken, tail(c.out))
		}
	}
	f(false, "led", "STUCK")
	f(true, "led", "STUCK", "NOCHECK")
	f(false, "led", "F=3")
	f(false, "led", "F=3", "LONGER")
	f(false, "calm", "F=3")
	if *large {
		f(false, "led", "F=4")
		f(false, "led", "F=4", "LONGER")
		f(false, "calm", "F=4")
	}
	t.Logf("ledger: spec: liveness in temporal logic, weak fairness | %d states in %d scopes, as it has to be", total, scopes)
}

// Voters come and go, one at a time, and nothing committed is lost.
func TestVotersChange(t *testing.T) {
	t.Parallel()
	total := 0
	f := func(constants ...string) {
		t.Helper()
		c := tla(t, source(t), "Voters", "Voters", "", constants...)
		if total += c.states; c.broken || c.states < 1000 {
			t.Errorf("%v: %s", constants, tail(c.out))
		}
	}
	f()
	if *large {
		if c := tla(t, source(t), "Reconfiguration", "Reconfiguration", "", "About={n1}"); c.broken {
			t.Errorf("Reconfiguration: %s", tail(c.out))
		}
		f("Node={n1,n2,n3,n4}", "First={n1,n2,n3}", "Votes=1")
		f("Changes=2", "Epochs=2")
	}
	t.Logf("ledger: spec: voters that change, in TLA+ | %d states, no rule broken", total)
}
