package sim

import (
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// A leader can go on with less than a majority of disks while somebody may ask it to
// change the voters: the new set alone has to commit that. So of who may join by
// itself more disks have to be lost before nothing can come of what is left.
func TestOneChangeOfTheVotersMayMendAQuorum(t *testing.T) {
	f := func(voters, spares, lost int, change func(w *World), want bool) {
		t.Helper()
		p := Plan{Voters: voters, Spares: spares, Dynamic: true, ReshapeEvery: time.Second, Timing: raft.DefaultTiming()}
		for range voters + spares {
			p.Speed = append(p.Speed, 1000)
		}
		w := newWorld(p, nil)
		change(w)
		for _, n := range w.nodes[:lost] {
			w.wipe(n)
		}
		if got := w.salvageable(); got != want {
			t.Errorf("%d of %d voters have lost their disks, %d spare: salvageable %t", lost, voters, spares, got)
		}
	}
	nobody := func(*World) {}
	join := func(w *World) { w.plan.AutoJoin = true }
	asked := func(w *World) {
		n := w.nodes[1]
		n.up, n.asked = true, map[raft.Call]inbound{1: {body: raft.AddVoterRequest{Voter: kafka.ReplicaKey{Node: 3}}}}
	}
	f(3, 0, 1, nobody, true)
	f(3, 0, 2, nobody, false)
	f(2, 1, 1, nobody, false)
	f(2, 1, 1, join, true) // 3 joins: 2 and 3 of three
	f(2, 1, 1, asked, true)
	f(2, 1, 2, join, false)
	f(4, 0, 2, nobody, false)
	f(4, 0, 2, join, true) // 1 leaves: 3 and 4 of three
	f(4, 0, 3, join, false)
	f(3, 0, 2, join, false) // 1 leaves: 3 of two
	f(3, 1, 2, join, false) // 4 joins: 3 and 4 of four
	f(1, 1, 1, join, false)
}
