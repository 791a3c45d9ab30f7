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
	// begins is when the first question leaves. young lasts as long as a round may
	// be under way elsewhere of which nothing was heard here when this one began, or
	// there of this one. yields is until when another round goes first (rounds.go).
	begins, young, yields kafka.Instant
}

func newProspective(c *Core) *prospective {
	known, at := c.role.leader()
	p := &prospective{
		known: known, at: at, tally: newTally(c.quorum.voters(), c.cfg.Self), expires: electionTimer(c),
		begins: max(c.now, c.refused.Add(c.trip())),
	}
	p.young = max(p.begins.Add(c.step()), c.refused.Add(2*c.step()))
	if f, ok := c.role.(*follower); ok && f.chosen {
		p.begins, p.young = c.now, c.now // nobody else begins a round now
	}
	return p
}

func (p *prospective) name() Role                        { return RoleProspective }
func (p *prospective) leader() (kafka.NodeID, Endpoints) { return p.known, p.at }

func (p *prospective) turn(c *Core) {
	switch {
	case p.tally.won() && c.now >= p.free() && c.election.Epoch < lastEpoch:
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
		at = min(at, p.free())
	}
	if c.closing == nil {
		at = min(at, p.expires)
	}
	return at
}
