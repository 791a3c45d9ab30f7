package sim

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// contact is R15 after every event: a leader leads on only while a majority of
// its voters keeps fetching. It keeps account of its own, by the node's clock,
// which it stops while the process does not run: what comes first afterwards may
// be a fetch that has waited all the while.
type contact struct {
	now   kafka.Instant // that it has run; never falls
	clock kafka.Instant // at the last event
	leads bool
	since kafka.Instant // it leads, or its voters are others
	heard []heard
}

// heard is when somebody was heard from last.
type heard struct {
	who kafka.ReplicaKey
	at  kafka.Instant
}

// before notes that a voter was heard from.
func (k *contact) before(n *node, ev raft.Event) {
	local := n.local()
	k.now += max(min(local, max(n.due, k.clock))-k.clock, 0) // what is beyond the deadline it stood still
	k.clock = max(k.clock, local)
	in, ok := ev.(raft.Received)
	if !ok || !k.leads {
		return
	}
	epoch := n.state.Election.Epoch
	switch r := in.Body.(type) {
	case raft.FetchRequest:
		k.hear(r.Replica, r.Epoch == epoch)
	case raft.SnapshotRequest:
		k.hear(r.Replica, r.Epoch == epoch)
	case raft.UpdateVoterRequest:
		k.hear(r.Voter, r.Epoch == epoch)
	}
}

func (k *contact) hear(who kafka.ReplicaKey, now bool) {
	if !now {
		return
	}
	for i := range k.heard {
		if h := &k.heard[i]; h.who == who {
			h.at = k.now
			return
		}
	}
	k.heard = append(k.heard, heard{who, k.now})
}

// after checks a node that leads.
func (k *contact) after(n *node, e *raft.Effects) {
	if n.state.Role != raft.RoleLeader {
		k.leads = false
		return
	}
	if !k.leads || slices.ContainsFunc(e.Append, func(a raft.Append) bool { return a.Control != nil }) {
		k.leads, k.since, k.heard = true, k.now, k.heard[:0]
	}
	k.check(n)
}

func (k *contact) check(n *node) {
	voters := n.state.Voters
	needed, others := voters.Majority(), make([]kafka.Instant, 0, 8)
	for i := range voters {
		v := &voters[i]
		if v.Key.Matches(n.cfg.Self) {
			needed--
			continue
		}
		at := k.since
		for i := range k.heard {
			if h := &k.heard[i]; v.Key.Matches(h.who) {
				at = max(at, h.at)
			}
		}
		others = append(others, at)
	}
	if needed <= 0 {
		return
	}
	slices.Sort(others)
	// Each window of 1.5 F must see a majority, which may come together at its
	// end: the first of several can be two windows ago.
	limit := n.cfg.Timing.Fetch * 3 / 2
	if needed > 1 {
		limit *= 2
	}
	silence := k.now.Sub(others[len(others)-needed])
	n.w.check.count[R15]++
	if silence >= limit {
		n.w.fail(R15, "node %d leads, although no majority has been heard for %v", n.id, silence)
	}
}
