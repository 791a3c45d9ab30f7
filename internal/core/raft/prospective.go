package raft

import "github.com/ottla/ottla/internal/base/kafka"

// prospective asks whether it would be elected before it touches the epoch
// (pre-vote, KIP-996). Epoch, vote and leader stay as they were.
type prospective struct {
	known   kafka.NodeID // the leader it lost, or NoNode
	at      Endpoints    // of that leader
	tally   tally
	expires kafka.Instant
	// resume is the timer that ran before this round and goes on after it; 0 when
	// there is none to go on (B3, B6).
	resume kafka.Instant
	// begins is when the first question leaves; rivals is what this node has
	// heard of other rounds; alone tells that nobody else begins one. See rounds.go.
	begins kafka.Instant
	rivals rivals
	alone  bool
}

func newProspective(c *Core) *prospective {
	known, at := c.role.leader()
	c.pace.forget()
	p := &prospective{
		known: known, at: at, tally: newTally(c.quorum.voters(), c.cfg.Self), expires: electionTimer(c),
		begins: max(c.now, c.rivals.refused.Add(c.trip())), rivals: c.rivals,
	}
	if f, ok := c.role.(*follower); ok && f.chosen {
		p.begins, p.alone = c.now, true
	}
	return p
}

func (p *prospective) name() Role                        { return RoleProspective }
func (p *prospective) leader() (kafka.NodeID, Endpoints) { return p.known, p.at }

func (p *prospective) turn(c *Core) {
	switch {
	case c.mourned.insists:
		if p.resume == 0 {
			p.resume = p.expires // its timer goes on, whatever becomes of the round
		}
		p.fallBack(c, p.resume)
	case p.tally.won() && c.now >= p.free(c) && hasNext(c):
		c.becomeCandidate()
	case p.tally.lost():
		p.fallBack(c, electionTimer(c))
	case c.now >= p.expires && c.closing == nil:
		p.fallBack(c, p.expires)
	case c.now >= p.begins:
		p.tally.ask(c, true)
	}
}

// fallBack follows the leader it had, or nobody. Because it then has not
// fetched from that leader, it grants the pre-vote of the next one who asks,
// so voters do not refuse each other for good.
func (p *prospective) fallBack(c *Core, expires kafka.Instant) {
	epoch := c.election.Epoch
	c.longer.roundLost(c.now)
	if p.known >= 0 && len(p.at) > 0 && p.known != c.cfg.Self.Node {
		c.becomeFollower(epoch, p.known, p.at)
		if f := c.role.(*follower); p.resume != 0 {
			f.expires = p.resume
		}
		return
	}
	if p.resume != 0 {
		expires = p.resume
	}
	c.becomeUnattached(epoch, p.known, expires)
}

func (p *prospective) next(c *Core) kafka.Instant {
	at := max(p.begins, p.tally.nextAsk(c))
	if p.tally.won() {
		at = min(at, p.free(c))
	}
	if c.closing == nil {
		at = min(at, p.expires)
	}
	return at
}
