package raft

import "github.com/ottla/ottla/internal/base/kafka"

// candidate asks for votes in one epoch, for which it has voted for itself. It
// has no leader, so there is no leader to forget. When a majority refuses it
// waits out its timer, so that a further epoch takes another pre-vote.
type candidate struct {
	tally   tally
	expires kafka.Instant
}

func newCandidate(c *Core, expires kafka.Instant) *candidate {
	return &candidate{tally: newTally(c.quorum.voters(), c.cfg.Self), expires: expires}
}

func (k *candidate) name() Role                        { return RoleCandidate }
func (k *candidate) leader() (kafka.NodeID, Endpoints) { return kafka.NoNode, nil }

func (k *candidate) turn(c *Core) {
	switch {
	case k.tally.won():
		c.becomeLeader(k.tally.granted())
	case c.now >= k.expires && c.closing == nil:
		c.becomeProspective()
	case !k.tally.lost():
		k.tally.ask(c, false)
	}
}

func (k *candidate) next(c *Core) kafka.Instant {
	at := kafka.Never
	if c.closing == nil {
		at = k.expires
	}
	if k.tally.lost() {
		return at
	}
	return min(at, k.tally.nextAsk(c))
}
