package raftnode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ottla/ottla/internal/core/raft"
)

// "Each has its guard, its tests and a switch or a counter": a leader that ends in good
// order is heard by the others, of which one stands, once.
func TestOccasionsOfAHandOverAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuorum(t, 1, 2, 3)
		q.start(1, 2, 3)
		defer q.stopAll()
		old := q.leader()
		id := old.View().Leader
		sum := func(which occasion) (n uint64) {
			for _, node := range q.nodes {
				n += node.Metrics().Occasions[which]
			}
			return n
		}
		farewells, stood := sum(heardFarewell), sum(stoodForElection)
		before := old.Metrics()
		stop(t, old)
		if m := old.Metrics(); m.Occasions[steppedDown] != before.Occasions[steppedDown]+1 || m.Syncs == 0 {
			t.Errorf("the old leader counts %v and %d syncs", m.Occasions, m.Syncs)
		}
		q.net.set(address(id), nil)
		delete(q.nodes, id)
		delete(q.ears, id)
		stood -= before.Occasions[stoodForElection]
		farewells -= before.Occasions[heardFarewell]
		q.leader()
		if n := sum(stoodForElection) - stood; n != 1 {
			t.Errorf("%d candidacies", n)
		}
		if sum(heardFarewell) == farewells {
			t.Error("nobody heard the farewell")
		}
	})
}

// A fetch that had no answer goes out again, on a new connection (B2).
func TestRepeatedFetchesAreCounted(t *testing.T) {
	var o occasions
	o.sent(raft.Message{To: 1, Body: raft.FetchRequest{}})
	o.sent(raft.Message{To: 1, Fresh: true, Body: raft.FetchRequest{}})
	o.sent(raft.Message{To: 1, Fresh: true, Body: raft.VoteRequest{}})
	if got := o.read(); got[repeatedFetch] != 1 {
		t.Errorf("%v", got)
	}
}

// What the table calls a trace of the core is one.
func TestOccasionsAreNamedAsTheCoreNamesThem(t *testing.T) {
	files, err := filepath.Glob("../../core/raft/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	for _, o := range occasionsOf {
		if o.trace != "" && !strings.Contains(code.String(), `trace("`+o.trace+`"`) && !isRole(o.trace) {
			t.Errorf("%s: the core does not say %q", o.name, o.trace)
		}
	}
	var counted occasions
	counted.traced("leader died")
	counted.traced("nothing of the kind")
	if got := counted.read(); got[sawLeaderDie] != 1 {
		t.Errorf("%v", got)
	}
}

func isRole(what string) bool {
	switch raft.Role(what) {
	case raft.RoleProspective, raft.RoleCandidate, raft.RoleResigned:
		return true
	}
	return false
}
