package sim

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// Changes counts what became of requests to change the voters (KIP-853).
type Changes struct{ Asked, Done int }

// drawChanges decides whether the voters change in a plan. It has a source of
// chance of its own, so that the rest of a plan does not depend on it.
func (p *Plan) drawChanges() {
	r := newRand(p.Seed, 0x766f74657273)
	if !p.Dynamic || r.IntN(2) == 0 {
		return
	}
	p.Spares, p.AutoJoin = 1+r.IntN(2), r.IntN(3) == 0
	p.Copied = r.IntN(3) == 0
	p.ReshapeEvery = pick(r, 200*time.Millisecond, time.Second, 3*time.Second)
	for range p.Spares {
		speed := int64(1000)
		if p.Active[Drifting] {
			speed = 850 + r.Int64N(300)
		}
		p.Speed = append(p.Speed, speed)
	}
}

// controllers are the nodes that may vote; observers come after them.
func (p *Plan) controllers() int { return p.Voters + p.Spares }

// joins makes a node one that finds its quorum by addresses. A spare was
// formatted without voters.
func (n *node) joins() {
	p := n.w.plan
	n.cfg.AutoJoin = p.AutoJoin && n.cfg.Controller
	n.findsQuorum()
	if int(n.id) <= p.Voters || !n.cfg.Controller {
		return
	}
	n.disk.snapshots = nil
	if p.Copied {
		n.cfg.Self.Dir = dirOf(1)
	}
}

// reshape asks a node, mostly the leader, to add or remove a voter, and comes
// again.
func (w *World) reshape() {
	if !w.chaos {
		return
	}
	w.later(w.mean(w.plan.ReshapeEvery), w.reshape)
	n := w.leader()
	if n == nil || w.rng.IntN(10) == 0 {
		n = w.anyNode()
	}
	w.askChange(n)
}

// askSoon asks who leads since now, often before anything of its epoch is
// committed.
func (w *World) askSoon(n *node) {
	if w.chaos && w.plan.ReshapeEvery > 0 && w.rng.IntN(2) == 0 {
		w.later(w.upTo(10*time.Millisecond), func() {
			if w.chaos {
				w.askChange(n)
			}
		})
	}
}

func (w *World) askChange(n *node) {
	id := kafka.NodeID(1 + w.rng.IntN(w.plan.controllers()))
	if !n.up || n.until > w.now {
		return
	}
	body := w.change(n, w.node(id))
	if body == nil {
		return
	}
	w.note("client asks %d: %#v", n.id, body)
	w.changes.Asked++
	n.lastAsked++
	n.asked[n.lastAsked] = inbound{body: body}
	n.step(raft.Received{Call: n.lastAsked, Body: body})
}

// change is a request about a voter: to add it, or to remove it or what it was
// before its disk was lost; now and then with a directory that is another's. nil
// when it would leave a set that nobody can repair.
func (w *World) change(n, about *node) raft.Body {
	key, set := about.cfg.Self, n.state.Voters
	if v, listed := set.Node(key.Node); listed {
		if rest := set.Without(key.Node); w.intact(rest, nil) < rest.Majority() {
			return nil
		}
		return raft.RemoveVoterRequest{Voter: v.Key}
	}
	if w.rng.IntN(8) == 0 { // somebody has copied a folder
		key.Dir = w.node(kafka.NodeID(1 + w.rng.IntN(w.plan.controllers()))).cfg.Self.Dir
	}
	return raft.AddVoterRequest{Voter: key, Endpoints: about.cfg.Endpoints, AtOnce: w.rng.IntN(2) == 0}
}

// reshaped notes the answer.
func (w *World) reshaped(n *node, body raft.Body) {
	a := body.(raft.ChangeAnswer)
	w.note("%d answers the change: %v %s", n.id, a.Err, a.Why)
	if a.Err == kerr.None {
		w.changes.Done++
	}
}

// oneChange is R11 and R16: a leader changes one voter at a time, after the set
// before it is committed, and no directory votes twice.
func (c *checker) oneChange(n *node, a raft.Append) {
	if a.Control == nil || a.Control.Set == nil || a.Control.Change != nil {
		return
	}
	dirs := map[kafka.DirID]bool{}
	for _, v := range a.Control.Set {
		c.must(!dirs[v.Key.Dir], R16, "node %d makes %v a voter twice", n.id, v.Key.Dir)
		dirs[v.Key.Dir] = true
	}
	at, before := n.lastVoters()
	if before == nil {
		return
	}
	different := 0
	for _, v := range a.Control.Set {
		if !before.Contains(v.Key) {
			different++
		}
	}
	for _, v := range before {
		if !a.Control.Set.Contains(v.Key) {
			different++
		}
	}
	c.must(different <= 1, R11, "node %d changes %d voters at once", n.id, different)
	c.must(n.state.HighWatermark > n.state.EpochStart, R11, "node %d changes the voters before anything of its epoch is committed", n.id)
	c.must(at < n.state.HighWatermark, R11, "node %d changes the voters while the set at %d is not committed, only %d", n.id, at, n.state.HighWatermark)
}

// lastVoters finds the last set in the log, with what is to be written, and its
// offset; nil when the log has none. Nothing is copied for it: some nodes are looked
// at so after every event.
func (n *node) lastVoters() (kafka.Offset, raft.Voters) {
	end := n.disk.log.end(n.disk.start)
	var sets []batch // that are to be written
	n.writer.undone(func(o *op) {
		switch {
		case o.cut:
			end = min(end, o.end)
			sets = sets[:batches(sets).from(o.end)]
		case o.batch.voters != nil:
			sets = append(sets, o.batch)
		}
	})
	if last := len(sets) - 1; last >= 0 {
		return sets[last].end - 1, sets[last].voters
	}
	log := n.disk.log.below(end)
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].voters != nil {
			return log[i].end - 1, log[i].voters
		}
	}
	return kafka.NoOffset, nil
}

// reshapedStep looks at a node of a plan that changes its voters: a high
// watermark that a leader raises is on the disks of a majority of the set in
// effect (R6); only voters, and who was
// removed by a set that is not committed, stand for election (R9); a leader that
// is no voter leads no longer than until that is committed (R12).
func (c *checker) reshapedStep(n *node, before kafka.Offset) {
	s := n.state
	if s.Role == raft.RoleProspective || s.Role == raft.RoleCandidate {
		at, _ := n.lastVoters()
		c.must(s.Voter || at >= s.HighWatermark, R9, "node %d is %s and no voter", n.id, s.Role)
	}
	if s.Role != raft.RoleLeader {
		return
	}
	if !s.Voter {
		at, _ := n.lastVoters()
		c.must(at >= s.HighWatermark, R12, "node %d leads, although its removal at %d is committed", n.id, at)
	}
	if s.HighWatermark <= before {
		return
	}
	have := 0
	for _, v := range s.Voters {
		d := c.w.node(v.Key.Node)
		if c.w.gone[v.Key.Dir] || v.Key.Matches(d.cfg.Self) && d.disk.durable.end(d.disk.start) >= s.HighWatermark {
			have++
		}
	}
	rule := R6
	if !s.Voter {
		rule = R12 // it must not count itself
	}
	c.must(have >= s.Voters.Majority(), rule, "leader %d exposes %d, which %d of %d voters have on disk", n.id, s.HighWatermark, have, len(s.Voters))
}

// unanswered is L3: every change has an answer.
func (c *checker) unanswered() {
	for _, n := range c.w.healed.core {
		for _, in := range n.asked {
			c.must(in.conn != nil, L3, "node %d has not answered %#v", n.id, in.body)
		}
	}
}
