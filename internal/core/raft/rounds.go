package raft

import (
	"slices"
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
//   - All rounds of an epoch have one order: the one that tells the longer log goes
//     first, or else that of the lower node id. While its own round is young, a voter
//     that goes first refuses the other, unless it was refused by it: then the other's
//     round began later, and is held back for ours.
//   - A round that has its majority goes on at once only if no split can come of it:
//     all voters but the lost leader have granted, or all but one of an odd number.
//     Otherwise it goes on when it is young no more. Even if all have granted, one
//     that goes before it and was refused here may have its majority, too, where that
//     takes neither us nor the lost leader: it is held back for that one all the same.
//   - A round is held back for each that goes before it, whether its voter has granted
//     or refused that one, and never for one that comes after it: or three rounds, each
//     of which was granted by the next, would wait for each other and go on together.
//     The other d is not known, so this lasts by the most that d can be, and the longer,
//     the more rounds go before: who is held back for two of them lets the second go
//     first, if the first was refused elsewhere.
//   - A voter that has refused a round, and now begins its own, asks only when its
//     answer has arrived, or it would be refused in turn, and both rounds be lost.
//     The round it refused may win all the same, and wait for its end elsewhere by a
//     longer d than ours: so our own is young for 2 d from there.
//   - A voter whose early round was refused insists on one when it is asked (B3, see
//     mourning).
//
// No rule grants more than KIP-996 does, none moves a timer, and what they wait for
// ends by itself: they delay an election and cannot prevent it.

// grantsRound answers a pre-vote.
func grantsRound(c *Core, r VoteRequest) bool {
	role, asks := c.role.(*prospective)
	first := precedes(c, r)
	switch {
	case !grants(c, r):
		if onlyShorter(c, r) {
			c.longer.refused(c, r.Candidate.Node)
		}
		if upToDate(c, r) {
			c.rivals.refuses(c.now, first)
		}
		return false
	case c.mourned.mayInsist(c, r):
		c.mourned.insist()
		c.rivals.refuses(c.now, true)
		return false
	case asks && c.now < role.young(c) && first:
		if !role.tally.refusedBy(r.Candidate.Node) {
			c.trace("own round precedes", r.Candidate.Node)
			return false
		}
		c.trace("own round goes on", r.Candidate.Node)
	case asks:
		role.rivals.yields(c.now, rival(c, r.Candidate.Node))
		c.trace("yields", r.Candidate.Node)
	case !first:
		c.rivals.granted = c.now
	}
	c.calls.granted()
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

// young is until when a round may be under way elsewhere of which nothing was heard
// here when this one began, or there of this one. What d is may be learnt from the
// answers of this very round, so it is looked at anew each time. Where we have proof of
// our leader's death others may hold our question until they have it, and only then
// begin: theirs arrives as much later.
func (p *prospective) young(c *Core) kafka.Instant {
	if p.alone {
		return p.begins
	}
	apart := c.apart()
	if c.mourned.epoch == c.election.Epoch {
		apart += MaxHeld
	}
	return max(p.begins.Add(apart), p.rivals.refused.Add(2*apart))
}

// free is when a round that has its majority may go on: when it is young no more,
// and the rounds that go before it have had their time.
func (p *prospective) free(c *Core) kafka.Instant {
	most := max(c.apart(), c.cfg.Timing.Election/8) // d of any voter, unless messages are slower than B4 has them
	var at kafka.Instant
	if v := p.rivals; v.granted > 0 {
		at = v.granted.Add(time.Duration(2+len(v.before)) * most)
	}
	if p.alone {
		return at
	}
	decided := p.tally.decides(p.known)
	if v := p.rivals; v.behind > 0 && (!decided || p.tally.wonWithoutUs()) {
		at = max(at, v.behind.Add(most+most/2))
	}
	if decided {
		return at
	}
	return max(at, p.young(c))
}

// rivals is what a voter has heard of rounds of others, before its own one and in it.
type rivals struct {
	refused kafka.Instant  // when it refused the last one of a log like its own
	behind  kafka.Instant  // when it refused the last one that precedes its own
	granted kafka.Instant  // when it granted the last one that its own is held back for
	before  []kafka.NodeID // whom it granted so since its own began
}

func (v *rivals) refuses(now kafka.Instant, first bool) {
	v.refused = now
	if !first {
		v.behind = now
	}
}

// yields holds a round back for another, once: who asks again and again, because our
// answers do not arrive, must not prevent an election.
func (v *rivals) yields(now kafka.Instant, to kafka.NodeID) {
	if !slices.Contains(v.before, to) {
		v.granted, v.before = now, append(v.before, to)
	}
}

// rival is for whom a round is held back: a voter of the set in effect, or, as NoNode,
// any stranger. Sets change by one voter at a time, so one stranger may be a voter of a
// set that we do not have yet, and its round would share the votes with ours. A second
// one holds nothing back, or nodes that are no voters, with ever new ids, could prevent
// an election. If it is a voter all the same that costs an epoch and no more: whose
// votes count is not decided here.
func rival(c *Core, id kafka.NodeID) kafka.NodeID {
	if _, votes := c.quorum.voters().Node(id); !votes {
		return kafka.NoNode
	}
	return id
}

// trip is the time that an answer is under way at most, as far as is known.
func (c *Core) trip() time.Duration {
	return min(max(c.pace.slowest, 5*time.Millisecond), c.cfg.Timing.Election/4)
}
