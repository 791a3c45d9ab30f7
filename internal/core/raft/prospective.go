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
	// there is none to go on (B6).
	resume kafka.Instant
}

func newProspective(c *Core) *prospective {
	known, at := c.role.leader()
	return &prospective{known: known, at: at, tally: newTally(c.quorum.voters(), c.cfg.Self), expires: electionTimer(c)}
}

func (p *prospective) name() Role                        { return RoleProspective }
func (p *prospective) leader() (kafka.NodeID, Endpoints) { return p.known, p.at }

func (p *prospective) turn(c *Core) {
	switch {
	case p.tally.won() && c.election.Epoch < lastEpoch:
		c.becomeCandidate()
	case p.tally.lost():
		p.fallBack(c, electionTimer(c))
	case c.now >= p.expires && c.closing == nil:
		p.fallBack(c, p.expires)
	default:
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
	if c.closing != nil {
		return p.tally.nextAsk(c)
	}
	return min(p.expires, p.tally.nextAsk(c))
}
