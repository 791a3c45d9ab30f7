package raft

import (
	"github.com/ottla/ottla/internal/base/invariant"
	"github.com/ottla/ottla/internal/base/kafka"
)

// elect makes an election state durable before anything of this step is sent.
// Nothing is written when no byte of it changes.
func (c *Core) elect(e Election) {
	if e == c.election {
		return
	}
	invariant.Check(e.Epoch >= c.election.Epoch, "epoch falls from %d to %d", c.election.Epoch, e.Epoch)
	invariant.Check(e.Epoch > c.election.Epoch || !c.election.hasVoted() || e.Voted == c.election.Voted,
		"vote of epoch %d changes from %v to %v", e.Epoch, c.election.Voted, e.Voted)
	if e.Epoch > c.election.Epoch {
		c.rivals = rivals{} // rounds of an epoch that is over
	}
	c.election = e
	c.out.Election = &e
}

// enter changes the role. Requests in flight are forgotten, and what was
// parked at a leader is answered at once (KAFKA-10677).
func (c *Core) enter(r role) {
	before := c.role
	c.calls.reset()
	c.role = r
	c.trace(string(r.name()), c.election.Leader)
	if l, led := before.(*leader); led {
		l.dismiss(c)
	}
}

// becomeUnattached leaves every other role for one that follows nobody: known
// is the leader whose address is missing, or NoNode.
func (c *Core) becomeUnattached(epoch kafka.Epoch, known kafka.NodeID, expires kafka.Instant) {
	if epoch > c.election.Epoch {
		c.lost.found(epoch)
		c.elect(c.election.inEpoch(epoch, known))
	} else if known >= 0 {
		c.elect(c.election.inEpoch(epoch, known))
	}
	c.enter(&unattached{known: known, expires: expires})
}

func (c *Core) becomeFollower(epoch kafka.Epoch, leader kafka.NodeID, at Endpoints) {
	invariant.Check(leader != c.cfg.Self.Node, "follower of itself in epoch %d", epoch)
	if epoch > c.election.Epoch {
		c.lost.found(epoch)
	}
	c.elect(c.election.inEpoch(epoch, leader))
	c.silence = silence{} // it lives, if it is the silent one
	c.enter(newFollower(c, leader, at))
}

// becomeProspective asks for pre-votes. Nothing becomes durable.
func (c *Core) becomeProspective() {
	invariant.Check(c.quorum.electable(c.hw), "an observer stands for election")
	c.longer.roundBegins()
	c.enter(newProspective(c))
}

// standOnceMore asks for pre-votes while a timer goes on running (B3, B6).
func (c *Core) standOnceMore(running kafka.Instant) {
	c.becomeProspective()
	p := c.role.(*prospective)
	p.expires, p.resume = min(p.expires, max(running, c.now+1)), running
}

// becomeCandidate votes for itself in the next epoch in which it has not voted.
func (c *Core) becomeCandidate() {
	invariant.Check(c.quorum.electable(c.hw), "an observer stands for election")
	epoch := c.election.Epoch + c.lost.stride()
	c.lost.found(epoch - 1)
	c.elect(Election{Epoch: epoch, Leader: kafka.NoNode, Voted: c.cfg.Self})
	c.enter(newCandidate(c, electionTimer(c)))
}

// resign gives up leading. The file already names this node as the leader of
// the epoch, and keeps doing so (B1).
func (c *Core) resign() {
	l := c.role.(*leader)
	r := newResigned(c, l.successors(c), electionTimer(c))
	r.heirAt = c.now.Add(c.pace.step(c.cfg.Timing.Election))
	c.enter(r)
}

// inherited is the election timer of a node that meets a higher epoch without
// a leader: what remains of its own if it was waiting or standing for election,
// but time enough for the candidate of that epoch (B4), else a fresh one.
func inherited(c *Core) kafka.Instant {
	least := c.now.Add(2 * c.step())
	switch r := c.role.(type) {
	case *candidate:
		return max(r.expires, least)
	case *unattached:
		return max(r.expires, least)
	case *resigned:
		return max(r.expires, least)
	case *prospective:
		if !r.tally.lost() {
			return max(r.expires, least)
		}
	}
	return electionTimer(c)
}

// shutdown begins to leave in good order: a leader hands over, see
// leader.handsOver, others finish what they are at and start no election any
// more.
func shutdown(c *Core, ev Shutdown) { c.closing = &ev }
