package raft

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Rounds of pre-votes that overlap would end in candidates of one epoch that split
// the votes (B4). Ranks alone keep them apart only while all timers began at the
// same time, and fetches that were parked end at different ones:
//
//  1. A leads B, C, D, E. A and B are gone. C asks, and is refused; now it grants.
//  2. The timers of D and E end within a few milliseconds. Each grants the other,
//     and C both.
//  3. Both become candidates of the next epoch. Each has two votes; three decide.
//
// With these rules one round alone comes to its end, as long as a message and its
// answer take less than d:
//
//   - Of two rounds that began before they heard of each other one precedes: the one
//     that told the longer log, or else that of the lower node id. While its own
//     round is young, a voter that precedes refuses the other, unless it was refused
//     by it: then the other's round began later.
//   - A voter that grants while its own round is under way holds that one back.
//   - A round that has its majority goes on at once only if no split can come of it:
//     all voters but the lost leader have granted, or all but one of an odd number.
//     Otherwise it goes on when it is young no more.
//   - A voter that has refused a round, and now begins its own, asks only when its
//     answer has arrived, or it would be refused in turn, and both rounds be lost.
//     The round it refused may win all the same, and wait for its end elsewhere by a
//     longer d than ours: so our own is young for 2 d from there.
//
// No rule grants more than KIP-996 does, none moves a timer, and what they wait for
// ends by itself: they delay an election and cannot prevent it.

// grantsRound answers a pre-vote.
func grantsRound(c *Core, r VoteRequest) bool {
	role, asks := c.role.(*prospective)
	switch {
	case !grants(c, r):
		if onlyShorter(c, r) {
			c.longer.refused(c, r.Candidate.Node)
		}
		if upToDate(c, r) {
			c.refused = c.now
		}
		return false
	case asks && c.now < role.young && precedes(c, r) && !role.tally.refusedBy(r.Candidate.Node):
		c.trace("own round precedes", r.Candidate.Node)
		return false
	case asks:
		role.yields = c.now.Add(2 * c.step())
		c.trace("yields", r.Candidate.Node)
	}
	return true
}

// precedes tells whether our round goes before that of a request. Both sides
// compare what the rounds tell, so that they come to the same end.
func precedes(c *Core, r VoteRequest) bool {
	mine, theirs := c.log.durablePosition(), Position{r.LastEpoch, r.End}
	if mine == theirs {
		return c.cfg.Self.Node < r.Candidate.Node
	}
	return mine.Covers(theirs)
}

// free is when a round that has its majority may go on.
func (p *prospective) free() kafka.Instant {
	if p.tally.decides(p.known) {
		return p.yields
	}
	return max(p.yields, p.young)
}

// trip is the time that an answer is under way at most, as far as is known.
func (c *Core) trip() time.Duration {
	return min(max(c.pace.slowest, 5*time.Millisecond), c.cfg.Timing.Election/8)
}
