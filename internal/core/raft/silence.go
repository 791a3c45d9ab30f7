package raft

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// silence is what an observer remembers of a leader that it gave up because it
// had not answered for the fetch timeout: a process that hangs keeps its
// connections and says nothing. Voters that have not elected another yet still
// name it. To believe them would be to wait for it a second time, while those it
// asks know the next leader after a fraction of that.
type silence struct {
	leader kafka.NodeID
	epoch  kafka.Epoch
	at     Endpoints     // of the leader: not to be asked meanwhile
	until  kafka.Instant // afterwards every address gets its turn again (KAFKA-20514)
}

func (s silence) holds(now kafka.Instant) bool { return now < s.until }

// names tells whether an answer tells of nobody but the silent leader.
func (s silence) names(h Hint, now kafka.Instant) bool {
	return s.holds(now) && h.Leader == s.leader && h.Epoch == s.epoch
}

// giveUp leaves a leader that does not answer, for who cannot stand against it.
func (f *follower) giveUp(c *Core) {
	c.silence = silence{leader: f.id, epoch: c.election.Epoch, at: f.at, until: c.now.Add(c.cfg.Timing.Fetch)}
	c.becomeUnattached(c.election.Epoch, f.id, kafka.Never)
}

// stayBehind keeps an observer out of an epoch that has no leader. Nobody needs its
// vote, and the quorum may never get there:
//
//  1. 1 stands in epoch 28. It reaches 4, an observer, and no voter.
//  2. 1 is gone for good. 2 and 3 go on in epoch 26.
//  3. 4 fetches in epoch 28, and is refused by the leader of 26 without end.
//
// Once an epoch has a leader a majority is in it, and every later leader is. A
// leader that says itself that its epoch is over is given up. (Apache Kafka's
// observers take any higher epoch.)
//
// Who said so is asked again soon: as a rule it knows the leader a moment later.
func stayBehind(c *Core, x *conn) {
	c.trace("epoch without leader ignored", x.to)
	if f, ok := c.role.(*follower); ok && f.id == x.to {
		f.giveUp(c)
		return
	}
	restBriefly(c, x)
}

// askable are the places to ask for the leader now: all but the silent one, unless
// there is no other.
func askable(c *Core, buffer *bootstrapBuffer) []bootstrapAddress {
	all := bootstraps(c, buffer)
	if !c.silence.holds(c.now) {
		return all
	}
	silent := func(b bootstrapAddress) bool { return c.silence.at.reach(b.at) }
	speaks := func(b bootstrapAddress) bool { return !silent(b) }
	if !slices.ContainsFunc(all, speaks) {
		return all
	}
	return slices.DeleteFunc(all, silent)
}
