package sim

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// workload proposes batches, each with a ticket of its own, to whoever believes
// to lead, and remembers what became of them.
type workload struct {
	last     uint64
	waiting  []proposal
	answered int // refused, or given up with their leader
	acked    []proposal
	taken    bool // the last one was appended or refused
	stopped  bool
}

// proposal is one batch on its way to be committed.
type proposal struct {
	ticket    uint64
	node      *node
	life      int
	epoch     kafka.Epoch
	base, end kafka.Offset
}

// next proposes something, and comes again.
func (k *workload) next(w *World) {
	if k.stopped {
		return
	}
	w.later(w.mean(w.plan.ProposeEvery), func() { k.next(w) })
	n := w.nodes[w.rng.IntN(w.plan.Voters)]
	for _, m := range w.nodes {
		if m.up && m.role == raft.RoleLeader && w.rng.IntN(4) > 0 {
			n = m
		}
	}
	if !n.up || n.until > w.now {
		return
	}
	k.last++
	epoch := n.state.Election.Epoch
	w.note("client proposes %d to %d", k.last, n.id)
	k.taken = false
	n.step(raft.Propose{Ticket: k.last, Epoch: epoch, Count: int32(1 + w.rng.IntN(4))})
	w.check.must(k.taken || !n.up, L2, "node %d neither takes proposal %d nor refuses it", n.id, k.last)
}

func (k *workload) appended(n *node, a raft.Append) {
	n.waiting++
	k.taken = true
	k.waiting = append(k.waiting, proposal{a.Ticket, n, n.life, a.Epoch, a.Base, a.End})
}

func (k *workload) refused(w *World, n *node, r raft.Refused) {
	w.note("%d refuses proposal %d: %v", n.id, r.Ticket, r.Code)
	k.answered++
	k.taken = true
}

// committed acknowledges what a leader has committed in its epoch, and gives up
// what a node can no longer answer because it leads no more.
func (k *workload) committed(w *World, n *node, commit kafka.Offset) {
	if n.waiting == 0 || n.role == raft.RoleLeader && commit == n.committed {
		return
	}
	n.committed, n.waiting = commit, 0
	kept := k.waiting[:0]
	for _, p := range k.waiting {
		switch {
		case p.node != n:
			kept = append(kept, p)
		case p.life != n.life || n.role != raft.RoleLeader || n.disk.election.Epoch != p.epoch:
			k.answered++ // the outcome is not known
		case p.end <= commit:
			k.acked = append(k.acked, p)
			w.check.acknowledged(p)
		default:
			n.waiting++
			kept = append(kept, p)
		}
	}
	k.waiting = kept
}

// mean draws a time around a mean.
func (w *World) mean(d time.Duration) time.Duration {
	return time.Duration((0.05 + w.rng.ExpFloat64()) * float64(d))
}
