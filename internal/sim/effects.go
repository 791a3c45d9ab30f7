package sim

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// carryOut does what a step asks for, in the order that makes it safe. At each
// point where something becomes durable the node may crash instead.
func (n *node) carryOut(e *raft.Effects, brought batches) {
	w := n.w
	if e.Fault != nil {
		w.fail(R8, "node %d: %v", n.id, e.Fault)
		return
	}
	if e.Election != nil && !n.saveElection(*e.Election) {
		return
	}
	n.tellRole()
	n.write(e, brought)
	for i := range e.Send {
		n.send(&e.Send[i])
	}
	n.pending = append(n.pending, e.SendSync...)
	for _, r := range e.Refused {
		w.work.refused(w, n, r)
	}
	w.check.committed(n, e.Commit)
	n.wake(e.Deadline)
	n.arm()
}

// saveElection writes quorum-state; the process stands still until it is
// durable. false when it crashed before or after.
func (n *node) saveElection(e raft.Election) bool {
	if n.crashesAt(SaveElection, before, 5) {
		return false
	}
	if kind, fails := n.writeFails(); fails { // it cannot go on, and is started again
		n.crash("for it cannot save its election state: " + kind.String())
		return false
	}
	lost := n.core.VotesLost()
	n.disk.marked = n.disk.marked || lost // before it, and gone after it
	save := func() { n.disk.election, n.disk.noFile = e, false }
	if n.crashesDuring(SaveElection, 5, save) {
		return false
	}
	save()
	n.w.note("%d saves %v", n.id, elected(e))
	if n.crashesAt(SaveElection, after, 5) {
		return false
	}
	n.disk.marked = lost
	n.until = max(n.until, n.w.now.Add(n.w.syncTime(n)))
	return true
}

func (n *node) tellRole() {
	if role := n.state.Role; role != n.role {
		n.role = role
		n.w.note("%d is %s", n.id, role)
		if role == raft.RoleLeader || role == raft.RoleCandidate {
			n.w.strike(n)
		}
		if role == raft.RoleLeader {
			n.w.askSoon(n)
		}
	}
}

// write hands to the writer what has to be written.
func (n *node) write(e *raft.Effects, brought batches) {
	w := n.w
	if t := e.Truncate; t != nil {
		w.note("%d truncates to %d", n.id, t.End)
		w.check.truncates(n, t.End)
		w.strike(n)
		n.put(job{seq: t.Seq, ops: []op{{cut: true, end: t.End}}})
	}
	for _, a := range e.Append {
		w.note("%d appends %d..%d@%d", n.id, a.Base, a.End, a.Epoch)
		w.check.oneChange(n, a)
		j := job{seq: a.Seq}
		for _, b := range batchesOf(a, brought) {
			j.ops = append(j.ops, op{batch: b})
		}
		n.put(j)
		if a.Ticket != 0 {
			w.work.appended(n, a)
		}
	}
	if c := e.Chunk; c != nil {
		w.note("%d stores snapshot %d-%d from byte %d", n.id, c.ID.EndOffset, c.ID.Epoch, c.Position)
		n.put(job{seq: c.Seq, chunk: c, size: snapshotSize})
	}
}

// batchesOf are the batches of an append.
func batchesOf(a raft.Append, brought batches) batches {
	switch {
	case a.From != 0:
		return brought.below(a.End)
	case a.Control != nil:
		return batches{{base: a.Base, end: a.End, epoch: a.Epoch, voters: a.Control.Set, level: a.Control.Level}}
	}
	return batches{{base: a.Base, end: a.End, epoch: a.Epoch, ticket: a.Ticket}}
}

// release sends what waited for a write.
func (n *node) release(done raft.Seq) {
	for len(n.pending) > 0 && n.pending[0].After <= done {
		m := n.pending[0].Message
		n.pending = n.pending[1:]
		n.send(&m)
	}
}

// send puts a request on its way, or answers one.
func (n *node) send(m *raft.Message) {
	if m.To != kafka.NoNode {
		n.w.request(n, m)
		return
	}
	in, ok := n.asked[m.Call]
	if !ok {
		return
	}
	delete(n.asked, m.Call)
	if in.conn == nil {
		n.w.reshaped(n, m.Body)
		return
	}
	body, brings := m.Body, batches(nil)
	if a, isFetch := body.(raft.FetchAnswer); isFetch && a.Read.From < a.Read.Below {
		body, brings = n.fetched(a)
	}
	n.w.check.answers(n, in, body)
	n.w.answer(n, in, body, brings)
}

// arm sees to it that the core is woken at its deadline.
func (n *node) arm() {
	at := max(n.deadline, n.w.now)
	if at >= n.armed {
		return
	}
	if at < kafka.Never && n.w.chance(n.w.plan.Starved, 1000, Starved) {
		at = at.Add(n.w.upTo(2 * time.Second))
	}
	n.armed = at
	n.w.queue.put(happening{at: at, who: n, life: n.life, run: func() {
		if n.armed != at {
			return // an earlier one has come
		}
		n.armed = kafka.Never
		if n.deadline > n.w.now {
			n.arm()
			return
		}
		n.step(raft.Passed{})
	}})
}

// longestSync is how long a sync takes at most, if it is not slow.
const longestSync = 3200 * time.Microsecond

// syncTime draws how long a sync takes.
func (w *World) syncTime(n *node) time.Duration {
	d := time.Duration(200+w.rng.IntN(3000)) * time.Microsecond
	if w.chance(w.plan.SlowSync, 1000, SlowSync) {
		d += w.upTo(w.plan.Stall)
	}
	return d
}
