package sim

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// watch is R10, which binds an event to what follows from it: a pre-vote of the
// receiver's own epoch changes no byte of the election state and no timer (what it
// may change is when a round that has its majority goes on, B4), and
// is refused by a leader and by a follower that has fetched in this epoch and
// neither was told that its leader resigned nor has proof that it died. One of a higher epoch changes
// only the epoch; one of a lower epoch is fenced.
type watch struct {
	fetched  bool // the follower has heard from its leader
	farewell bool // its leader has said that it resigned
	gone     bool // its leader's process was proven to be gone
	closing  bool // it was asked to stop
	// fetching is the fetch whose answer the core waits for, or 0. A change of
	// role forgets it.
	fetching raft.Call

	role     raft.Role
	election raft.Election
	leader   kafka.NodeID
	deadline kafka.Instant
}

// before notes how a node is when an event comes.
func (h *watch) before(n *node, ev raft.Event) {
	s := n.state
	h.role, h.election, h.leader, h.deadline = s.Role, s.Election, s.Leader, n.deadline
	if _, ok := ev.(raft.Shutdown); ok {
		h.closing = true
	}
}

// after checks what became of a pre-vote, and follows what a follower hears.
func (h *watch) after(n *node, ev raft.Event, e raft.Effects) {
	if in, ok := ev.(raft.Received); ok {
		if r, isVote := in.Body.(raft.VoteRequest); isVote && r.PreVote && !n.broken {
			h.preVote(n, in.Call, r, e)
		}
	}
	h.follow(n, ev, e)
}

func (h *watch) preVote(n *node, call raft.Call, r raft.VoteRequest, e raft.Effects) {
	c := &n.w.check
	answer := answerTo(call, e)
	switch {
	case r.Epoch < h.election.Epoch:
		c.must(!answer.Granted && answer.Err == kerr.FencedLeaderEpoch, R10, "node %d in epoch %d does not fence a pre-vote of %d", n.id, h.election.Epoch, r.Epoch)
	case r.Epoch > h.election.Epoch:
		c.must(e.Election != nil && e.Election.Epoch == r.Epoch && e.Election.Voted == raft.NoVote && e.Election.Leader == kafka.NoNode,
			R10, "a pre-vote of epoch %d changes more than the epoch of node %d", r.Epoch, n.id)
		return
	default:
		follower := h.role == raft.RoleFollower && h.fetched && !h.farewell && !h.gone
		c.must(!answer.Granted || h.role != raft.RoleLeader && !follower, R10,
			"node %d, %s that has a leader, grants a pre-vote of its epoch %d", n.id, h.role, r.Epoch)
	}
	overdue := n.w.now >= h.deadline // what its timer brings comes in this step, too
	c.must(e.Election == nil || overdue, R10, "a pre-vote of epoch %d changes the election state of node %d", r.Epoch, n.id)
	if !overdue && !asksForMore(e) {
		c.must(n.global(e.Deadline) == h.deadline, R10, "a pre-vote moves the timer of node %d, %s", n.id, h.role)
	}
}

// asksForMore tells whether a pre-vote was refused for a shorter log, upon which
// the node may stand itself (B6), or was granted by a node that then holds its own
// round back (B4).
func asksForMore(e raft.Effects) bool {
	for _, t := range e.Trace {
		switch t.What {
		case "shorter log asks", "longer log stands", "yields":
			return true
		}
	}
	return false
}

func answerTo(call raft.Call, e raft.Effects) raft.VoteAnswer {
	for _, m := range e.Send {
		if a, ok := m.Body.(raft.VoteAnswer); ok && m.To == kafka.NoNode && m.Call == call {
			return a
		}
	}
	return raft.VoteAnswer{}
}

// follow keeps account of what a follower has heard since it became one.
func (h *watch) follow(n *node, ev raft.Event, e raft.Effects) {
	h.hear(n, ev, inVain(e))
	for _, t := range e.Trace {
		switch role := raft.Role(t.What); role {
		case raft.RoleFollower, raft.RoleUnattached, raft.RoleProspective, raft.RoleCandidate, raft.RoleLeader, raft.RoleResigned:
			h.fetched, h.farewell, h.gone, h.fetching = false, false, false, 0
		}
	}
	for _, m := range e.Send {
		h.asks(m)
	}
	for _, p := range e.SendSync {
		h.asks(p.Message)
	}
}

func (h *watch) asks(m raft.Message) {
	if _, ok := m.Body.(raft.FetchRequest); ok {
		h.fetching = m.Call
	}
}

// inVain tells that an answer brought nothing that a follower could use: damaged
// records, a cut at its end, a snapshot of what it has.
func inVain(e raft.Effects) bool {
	return slices.ContainsFunc(e.Trace, func(t raft.Trace) bool {
		return t.What == "records refused" || t.What == "truncation refused" || t.What == "snapshot refused"
	})
}

// hear notes an answer that a follower waited for, or its leader's farewell.
func (h *watch) hear(n *node, ev raft.Event, vain bool) {
	s := n.state
	ours := func(hint raft.Hint) bool { return hint.Epoch == s.Election.Epoch && hint.Leader == s.Leader }
	switch ev := ev.(type) {
	case raft.Received:
		if r, ok := ev.Body.(raft.EndRequest); ok && ours(raft.Hint{Epoch: r.Epoch, Leader: r.Leader}) {
			h.farewell = true
		}
	case raft.Dead:
		h.gone = h.gone || ours(raft.Hint{Epoch: ev.Epoch, Leader: ev.Leader})
	case raft.Answered:
		a, ok := ev.Body.(raft.FetchAnswer)
		if ev.Call != h.fetching {
			return
		}
		h.fetching = 0
		if ok && !vain && a.Err == kerr.None && ours(a.Hint) && h.role == raft.RoleFollower && h.leader == s.Leader {
			h.fetched, h.farewell, h.gone = true, false, false
		}
	}
}
