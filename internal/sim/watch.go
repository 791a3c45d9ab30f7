package sim

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// watch is R10, which binds an event to what follows from it: a pre-vote of the
// receiver's own epoch changes no byte of the election state and no timer. What it may
// change is when a round that has its majority goes on (B4), and a round may begin
// that the timer outlasts (B3, B6). It is refused by a leader, and by a follower that
// has fetched in this epoch and neither was told that its leader resigned nor has
// proof that it died. One of a higher epoch changes only the epoch; one of a lower
// epoch is fenced.
type watch struct {
	fetched  bool // the follower has heard from its leader
	farewell bool // its leader has said that it resigned
	gone     bool // its leader's process was proven to be gone
	closing  bool // it was asked to stop
	// fetching is the fetch whose answer the core waits for, or 0, and asked whom it
	// asks. A change of role forgets it, and so does another request to that node:
	// the core has given the fetch up by then.
	fetching raft.Call
	asked    kafka.NodeID

	// clock is the node's time as its core has it, which never goes back.
	clock kafka.Instant
	proof proof

	role            raft.Role
	election        raft.Election
	leader          kafka.NodeID
	deadline, timer kafka.Instant
}

// proof is that the leader of an epoch is dead, as a follower of it was told first.
type proof struct {
	epoch kafka.Epoch   // 0: there was none
	from  kafka.Instant // when the node may insist on a round of its own (B3)
	spent bool          // it has insisted
}

// before notes how a node is when an event comes.
func (h *watch) before(n *node, ev raft.Event) {
	s := n.state
	h.role, h.election, h.leader, h.deadline, h.timer = s.Role, s.Election, s.Leader, n.deadline, n.core.Timer()
	h.clock = max(h.clock, n.local())
	switch ev := ev.(type) {
	case raft.Shutdown:
		h.closing = true
	case raft.Dead:
		ours := h.role == raft.RoleFollower && h.leader == ev.Leader && h.election.Epoch == ev.Epoch
		if ours && h.proof.epoch != ev.Epoch {
			h.proof = proof{epoch: ev.Epoch, from: h.clock.Add(n.cfg.Timing.Fetch / 2)}
		}
	}
}

// after checks what became of a pre-vote, and follows what a follower hears.
func (h *watch) after(n *node, ev raft.Event, e *raft.Effects) {
	in, _ := ev.(raft.Received)
	r, _ := in.Body.(raft.VoteRequest)
	if r.PreVote && !n.broken {
		h.preVote(n, in.Call, r, e)
	}
	if traced(e, insists) {
		h.insists(n, r.PreVote && r.Epoch == h.election.Epoch && !answerTo(in.Call, e).Granted)
	}
	h.follow(n, ev, e)
}

func (h *watch) preVote(n *node, call raft.Call, r raft.VoteRequest, e *raft.Effects) {
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
	if overdue {
		return
	}
	c.must(n.core.Timer() == h.timer, R10, "a pre-vote moves the timer of node %d, %s, from %v to %v", n.id, h.role, h.timer, n.core.Timer())
	if traced(e, "shorter log asks", "longer log stands", insists) {
		return // a round has steps of its own, which come before the timer
	}
	moved := n.global(e.Deadline).Sub(h.deadline)
	c.must(moved == 0 || moved > 0 && yields(e), R10, "a pre-vote moves the next step of node %d, %s, by %v", n.id, h.role, moved)
}

// insists is what the core tells when a voter refuses a round for the sake of its own.
const insists = "insists on its round"

// insists checks when a node does so: upon a pre-vote of its epoch, which it refuses,
// once in an odd epoch of whose leader it had proof that it is dead, and not before
// F/2 have passed since then (B3).
func (h *watch) insists(n *node, refuses bool) {
	c, epoch, p := &n.w.check, h.election.Epoch, &h.proof
	c.must(refuses, R10, "node %d insists on its round, and refuses none", n.id)
	c.must(p.epoch == epoch && epoch%2 == 1, R10, "node %d insists on its round in epoch %d, and has proof that the leader of %d is dead", n.id, epoch, p.epoch)
	c.must(h.clock >= p.from, R10, "node %d insists on its round %v too early", n.id, p.from.Sub(h.clock))
	c.must(!p.spent, R10, "node %d insists on its round a second time in epoch %d", n.id, epoch)
	p.spent = true
}

// yields tells whether a pre-vote was granted by a node that then holds its own
// round back (B4): what it does next comes later, and never earlier.
func yields(e *raft.Effects) bool { return traced(e, "yields") }

func traced(e *raft.Effects, any ...string) bool {
	return slices.ContainsFunc(e.Trace, func(t raft.Trace) bool { return slices.Contains(any, t.What) })
}

func answerTo(call raft.Call, e *raft.Effects) raft.VoteAnswer {
	for _, m := range e.Send {
		if a, ok := m.Body.(raft.VoteAnswer); ok && m.To == kafka.NoNode && m.Call == call {
			return a
		}
	}
	return raft.VoteAnswer{}
}

// follow keeps account of what a follower has heard since it became one.
func (h *watch) follow(n *node, ev raft.Event, e *raft.Effects) {
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
		h.fetching, h.asked = m.Call, m.To
	} else if m.To == h.asked && h.fetching != 0 {
		h.fetching = 0
	}
}

// inVain tells that an answer brought nothing that a follower could use: damaged
// records, a cut at its end, a snapshot of what it has, records that it asked for
// before it granted a pre-vote.
func inVain(e *raft.Effects) bool {
	return traced(e, "records refused", "truncation refused", "snapshot refused", "outdated answer dropped")
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
