package raft

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// settle lets messages arrive, 1 ms each, and time pass, until ok or a limit.
func (w *world) settle(limit time.Duration, ok func() bool) bool {
	until := w.now.Add(limit)
	for w.now < until {
		if ok() {
			return true
		}
		if len(w.net) == 0 {
			if next := w.earliest(); next != nil && next.deadline > w.now {
				w.now = min(next.deadline, until)
			}
			w.pass(0)
			continue
		}
		arrive := w.net
		w.net = nil
		w.pass(time.Millisecond)
		for _, e := range arrive {
			w.handOver(e)
		}
	}
	return ok()
}

// agreed tells that one voter leads, everyone follows it, and all have the same
// committed log.
func (w *world) agreed() bool {
	var lead *member
	for _, m := range w.nodes {
		if m.core.leads() {
			if lead != nil {
				return false
			}
			lead = m
		}
	}
	if lead == nil || lead.core.role.(*leader).hw != lead.core.log.end {
		return false
	}
	for _, m := range w.nodes {
		id := m.core.State().Leader
		if id != lead.id || m.core.hw != lead.core.log.end || m.core.log.end != lead.core.log.end {
			return false
		}
	}
	return true
}

// After healing: L1 a leader is elected, L4 no node stays prospective, L8
// everyone has everything.
func TestAHealedQuorumAgrees(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 9))
		w := &world{quiet: true}
		if err := w.do("nodes 1,2,3,4 voters=1,2,3 brokers=4"); err != nil {
			t.Fatal(err)
		}
		p := newPromises()
		for range 300 {
			stir(w, p, byte(r.Uint32()), byte(r.Uint32()))
			p.check(t, w)
		}
		for _, m := range w.nodes {
			m.slow = false
			m.drain()
		}
		w.net = nil // cut connections
		begun := w.now
		// 1.5 F + F + 10 x 2 E, as kraft.md suggests for a bound.
		if !w.settle(25*time.Second, w.agreed) {
			w.quiet = false
			for _, m := range w.nodes {
				m.show()
			}
			t.Fatalf("seed %d: no agreement %v after healing\n%s", seed, w.now.Sub(begun), w.out.String())
		}
		p.check(t, w)
	}
}

// L5, L7: a leader that keeps its majority keeps leading; a voter that was cut
// off comes back without an epoch change.
func TestAStableLeaderStays(t *testing.T) {
	w := &world{quiet: true}
	if err := w.do("nodes 1,2,3"); err != nil {
		t.Fatal(err)
	}
	if !w.settle(25*time.Second, w.agreed) {
		t.Fatal("no leader")
	}
	epoch := w.nodes[0].core.election.Epoch
	w.settle(60*time.Second, func() bool { return false })
	away := w.node(3)
	if away.core.leads() {
		away = w.node(2)
	}
	away.down = true // hears and says nothing, but keeps its state
	w.settle(60*time.Second, func() bool { return false })
	away.down = false
	if !w.settle(25*time.Second, w.agreed) {
		t.Fatal("the voter did not come back")
	}
	w.settle(10*time.Second, func() bool { return false })
	for _, m := range w.nodes {
		if got := m.core.election.Epoch; got != epoch {
			t.Errorf("node %d is in epoch %d, not %d", m.id, got, epoch)
		}
	}
}

// A killed leader is replaced, one epoch later, within F and a few rounds.
func TestAKilledLeaderIsReplacedInOneEpoch(t *testing.T) {
	for seed := range 30 {
		w := &world{quiet: true}
		a := parseArgs("nodes 1,2,3")
		a.pairs["seed"] = string(rune('0' + seed%10))
		if err := w.makeNodes(a); err != nil {
			t.Fatal(err)
		}
		w.settle(25*time.Second, w.agreed)
		w.settle(time.Duration(seed)*97*time.Millisecond, func() bool { return false })
		var dead *member
		for _, m := range w.nodes {
			if m.core.leads() {
				dead = m
			}
		}
		epoch := dead.core.election.Epoch
		dead.down = true
		killed := w.now
		elected := func() bool {
			for _, m := range w.nodes {
				if m != dead && m.core.leads() && m.core.role.(*leader).hw > kafka.NoOffset {
					return m.core.election.Epoch == epoch+1
				}
			}
			return false
		}
		if !w.settle(10*time.Second, elected) {
			t.Fatalf("seed %d: no leader of epoch %d after %v", seed, epoch+1, w.now.Sub(killed))
		}
		if took := w.now.Sub(killed); took > 3*time.Second {
			t.Errorf("seed %d: took %v, more than F and a round", seed, took)
		}
	}
}
