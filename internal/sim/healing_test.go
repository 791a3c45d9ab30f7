package sim

import (
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// Who has heard nothing while thousands of batches were committed, and gets one in
// an answer, takes longer than a quorum may to agree: it is behind, and nothing is
// wrong (L8).
func TestWhoIsFarBehindHasTimeToCatchUp(t *testing.T) {
	p := Plan{
		Voters: 1, Observers: 1, Timing: raft.DefaultTiming(), Chaos: 40 * time.Second, FaultEvery: time.Hour, TidyEvery: time.Hour,
		ProposeEvery: 5 * time.Millisecond, Far: 4 * time.Millisecond, Lost: 990, Batches: 1, Stall: time.Millisecond, Speed: []int64{1000, 1000},
	}
	p.Active[Lost] = true
	r := RunPlan(p, nil)
	if r.Failure != nil {
		t.Errorf("%v", r.Failure)
	}
	if took := r.Simulated - p.Chaos; took < healingLimit {
		t.Errorf("it caught up with %d batches in %v, which is no test of a limit of %v", r.Acked, took, healingLimit)
	}
}

// The same for what nobody has committed yet, and cannot before all of it is copied:
// more is proposed than fits into the answers, and the leader, which alone has it,
// begins another epoch. Two voters are both repaired.
func TestWhoIsFarBehindInWhatIsNotCommittedHasTime(t *testing.T) {
	p := Plan{
		Voters: 2, Timing: raft.DefaultTiming(), Chaos: 12 * time.Second, FaultEvery: time.Hour, TidyEvery: time.Hour,
		ProposeEvery: 2 * time.Millisecond, Far: 20 * time.Millisecond, Batches: 1, Stall: time.Millisecond, Speed: []int64{1000, 1000},
	}
	w := newWorld(p, nil)
	w.later(p.Chaos-time.Millisecond, func() { w.leader().crash("with what it alone has") })
	var tail kafka.Offset
	w.later(p.Chaos+time.Millisecond, func() {
		a, b := w.nodes[0].disk.durable.end(0), w.nodes[1].disk.durable.end(0)
		tail = max(a, b) - min(a, b)
	})
	w.play()
	if w.failure != nil {
		t.Errorf("%v", w.failure)
	}
	if took := time.Duration(w.now) - p.Chaos; took < healingLimit || tail < 2000 {
		t.Errorf("they agreed after %v on a tail of %d records, which is no test of a limit of %v", took, tail, healingLimit)
	}
}

// healedWorld is three voters and an outsider among them, after chaos: 1 leads epoch
// 5 and has 20,000 records of which 2 has none.
func healedWorld(outside string) *World {
	w := newWorld(Plan{Voters: 3, Timing: raft.DefaultTiming(), Batches: 1, Speed: []int64{1000, 1000, 1000}}, nil)
	w.healed = &healing{core: w.nodes[:2], outside: outside}
	for i, n := range w.nodes {
		n.up, n.role = true, raft.RoleFollower
		n.disk.election = raft.Election{Epoch: 5, Voted: raft.NoVote, Leader: 1}
		n.state = raft.State{Role: n.role, Election: n.disk.election, Leader: 1, HighWatermark: 0}
		if i == 0 {
			n.role = raft.RoleLeader
			n.state.Log = raft.Position{Epoch: 5, End: 20_000}
			n.disk.durable = batches{{end: 20_000, epoch: 5}}
		}
	}
	return w
}

// judged is the rule that is found broken when a world is looked at after a time, or
// "".
func judged(w *World, after time.Duration) string {
	w.now = kafka.Instant(after)
	w.look()
	if w.failure == nil {
		return ""
	}
	return w.failure.Rule.String()
}

// What one has to fetch is no excuse for having no leader, or for asking for ever (L1,
// L4): that extends the time to have the same log alone (L8).
func TestWhoIsFarBehindFollowsALeaderInTime(t *testing.T) {
	const soon, late = healingLimit, healingLimit + time.Millisecond
	f := func(what string, after time.Duration, change func(w *World), want string) {
		t.Helper()
		w := healedWorld("down")
		if w.catchUp() < time.Minute {
			t.Fatalf("it catches up in %v", w.catchUp())
		}
		change(w)
		if got := judged(w, after); got != want {
			t.Errorf("%s after %v: %q is broken, want %q", what, after, got, want)
		}
	}
	resigned := func(w *World) { w.nodes[0].role = raft.RoleResigned }
	asks := func(w *World) { w.nodes[1].role = raft.RoleProspective }
	f("nobody leads", soon, resigned, "")
	f("nobody leads", late, resigned, L1.String())
	f("one asks", soon, asks, "")
	f("one asks", late, asks, L4.String())
	f("one follows another", late, func(w *World) { w.nodes[1].state.Leader = 3 }, L1.String())
	f("one is of another epoch", late, func(w *World) { w.nodes[1].state.Election.Epoch = 4 }, L1.String())
	f("one has less", late, func(*World) {}, "")
	f("one has less", time.Hour, func(*World) {}, L8.String())
	f("nobody leads any more", late, func(w *World) { judged(w, time.Second); resigned(w) }, "")
	f("nobody leads any more", late+time.Second, func(w *World) { judged(w, time.Second); resigned(w) }, L1.String())
}

// A candidate that was killed comes back in its epoch, which is above the one in
// which the others have agreed meanwhile. Its epoch may cost them one more election:
// a majority had granted its round (L1). So they have agreed only when nobody who can
// be heard is above them; and they have had a leader all the same.
func TestACandidateThatComesBackMayTakeTheOthersToItsEpoch(t *testing.T) {
	f := func(outside string, epoch kafka.Epoch, want bool) {
		t.Helper()
		w := healedWorld(outside)
		if outside == "a late message is under way" { // of 26,500 seeds one had it
			w.healed.outside, w.underWay = "cut", w.now+1
		}
		w.nodes[1].state.Log, w.nodes[1].disk.durable = w.nodes[0].state.Log, w.nodes[0].disk.durable
		w.nodes[0].state.HighWatermark, w.nodes[1].state.HighWatermark = 20_000, 20_000
		w.nodes[2].disk.election.Epoch = epoch
		if got := w.agreement() != nil; got != want {
			t.Errorf("they agree in epoch 5, with an outsider that is %s in %d: %v", outside, epoch, got)
		}
		if rule := judged(w, healingLimit); rule != "" || w.healed.led != w.now {
			t.Errorf("they have a leader, with an outsider that is %s in %d: %q is broken", outside, epoch, rule)
		}
	}
	f("deaf", 5, true)
	f("deaf", 6, false)
	f("a late message is under way", 5, true)
	f("a late message is under way", 6, false)
	f("cut", 6, true)
	f("mute", 6, true)
	f("down", 6, true)
}
