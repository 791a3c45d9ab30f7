package raft

import (
	"fmt"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

func TestAStaticVoterMatchesAnyDirectory(t *testing.T) {
	dir := kafka.DirID{1}
	set := NewVoters(Voter{Key: kafka.ReplicaKey{Node: 2, Dir: dir}}, Voter{Key: kafka.ReplicaKey{Node: 1}})
	f := func(key kafka.ReplicaKey, want bool) {
		t.Helper()
		if got := set.Contains(key); got != want {
			t.Errorf("%v: %v", key, got)
		}
	}
	f(kafka.ReplicaKey{Node: 1, Dir: dir}, true)
	f(kafka.ReplicaKey{Node: 2, Dir: dir}, true)
	f(kafka.ReplicaKey{Node: 2, Dir: kafka.DirID{2}}, false)
	f(kafka.ReplicaKey{Node: 2}, false)
	f(kafka.ReplicaKey{Node: 3}, false)
	if set[0].Key.Node != 1 || set.Majority() != 2 || len(set.With(Voter{Key: kafka.ReplicaKey{Node: 2}})) != 2 {
		t.Errorf("set %v", set)
	}
}

// "p = 0: 0 ms; not listed: B; otherwise min(B, (B >> (n-1)) << (p-1))."
func TestSuccessionDelays(t *testing.T) {
	f := func(n int, want ...time.Duration) {
		t.Helper()
		var preferred []kafka.ReplicaKey
		for id := range n {
			preferred = append(preferred, kafka.ReplicaKey{Node: kafka.NodeID(id)})
		}
		for id, d := range want {
			c := &Core{cfg: Config{Self: kafka.ReplicaKey{Node: kafka.NodeID(id)}, Timing: DefaultTiming()}}
			if got := successionDelay(c, preferred); got != d*time.Millisecond {
				t.Errorf("place %d of %d waits %v, want %v ms", id, n, got, int(d))
			}
		}
	}
	f(0, 1000)
	f(1, 0, 1000)
	f(2, 0, 500, 1000)
	f(4, 0, 125, 250, 500, 1000)
}

func TestATallyCountsEachVoterOnce(t *testing.T) {
	y := newTally(five(), kafka.ReplicaKey{Node: 1})
	f := func(node kafka.NodeID, granted, won, lost bool) {
		t.Helper()
		y.record(node, granted)
		if y.won() != won || y.lost() != lost {
			t.Errorf("after %d: won %v, lost %v", node, y.won(), y.lost())
		}
	}
	f(9, true, false, false) // no voter
	f(2, true, false, false)
	f(2, true, false, false)
	f(3, false, false, false)
	f(4, false, false, false)
	f(5, false, false, true)
	f(5, true, true, false) // a pre-vote may be answered differently later
	if got := fmt.Sprint(y.granted()); got != "[1 2 5]" {
		t.Errorf("granted by %s", got)
	}
}

// "LastCaughtUpTimestamp: set to the fetch time if the fetch offset >= leader
// LEO; otherwise to the previous fetch time if the offset >= the leader LEO at
// that previous fetch."
func TestCaughtUpTimes(t *testing.T) {
	var r replicas
	key := kafka.ReplicaKey{Node: 2}
	f := func(now kafka.Instant, offset, leaderEnd kafka.Offset, want kafka.Instant, ever bool) {
		t.Helper()
		r.reached(nil, key, offset, leaderEnd, now)
		x, _ := r.find(key)
		if x.everFull != ever || x.caughtUp != want {
			t.Errorf("at %d: caught up %v at %d, want %v at %d", now, x.everFull, x.caughtUp, ever, want)
		}
	}
	f(10, 5, 9, 0, false)
	f(20, 9, 12, 10, true)
	f(30, 12, 12, 30, true)
	f(40, 11, 15, 30, true) // it lost its disk: accepted as it is
	if r.end(key) != 11 {
		t.Errorf("end %d", r.end(key))
	}
}

// "Observers silent for 300 s are dropped from the list when it is built."
func TestSilentObserversAreDropped(t *testing.T) {
	w := &world{quiet: true}
	if err := w.do("nodes 1,2,3,4 voters=1,2,3"); err != nil {
		t.Fatal(err)
	}
	w.settle(25*time.Second, w.agreed)
	var lead *member
	for _, m := range w.nodes {
		if m.core.leads() {
			lead = m
		}
	}
	q, ok := lead.core.Describe(w.now)
	if !ok || len(q.Voters) != 3 || len(q.Observers) != 1 || q.Leader != lead.id || q.HighWatermark != lead.core.hw {
		t.Fatalf("%+v", q)
	}
	for _, v := range q.Voters { // as a running 4.4 tells of static voters
		if v.Key.Dir != (kafka.DirID{}) {
			t.Errorf("static voter %d is described with directory %v", v.Key.Node, v.Key.Dir)
		}
	}
	if q, _ = lead.core.Describe(w.now.Add(301 * time.Second)); len(q.Observers) != 0 || len(q.Voters) != 3 {
		t.Errorf("after 301 s: %+v", q)
	}
}

// B4: "expiry is F + rank x d, never below F", by node id among the voters other
// than the leader, rotated by epoch.
func TestRanksAreDistinctAndRotate(t *testing.T) {
	for epoch := range kafka.Epoch(6) {
		seen := map[int]bool{}
		for _, id := range []kafka.NodeID{1, 2, 4, 5} {
			m := members{self: kafka.ReplicaKey{Node: id}, static: five(), log: &logState{}}
			rank := m.rank(3, epoch)
			if rank < 0 || rank > 3 || seen[rank] {
				t.Errorf("epoch %d: %d has rank %d", epoch, id, rank)
			}
			seen[rank] = true
		}
	}
}

// five voters, 1 to 5.
func five() (set Voters) {
	for id := range kafka.NodeID(5) {
		set = set.With(Voter{Key: kafka.ReplicaKey{Node: id + 1}})
	}
	return set
}
