package raft

import "github.com/ottla/ottla/internal/base/kafka"

// mourning is what a voter remembers of proof that its leader is dead (B3). With
// proof it asks at once. Voters without any, and Apache Kafka never has any, refuse
// it until their own timers end. Those run from the last fetch, and ours from the
// round that was lost, so that beside Apache Kafka ours would never lead after a
// death:
//
//  1. A leads, B and C follow, and A is killed. B has proof and asks; C, which has
//     fetched, refuses. B follows A again, for as long as its timer allows.
//  2. The timer of C ends, and C asks. B, which has not fetched since, grants.
//
// In every other epoch B answers the question of C with a refusal, and at once with
// its own: C has lost its leader, too, and grants. So B leads where C would have led,
// in the same epoch, and no later unless messages get lost. It insists on its round once in an epoch, against a
// log that is equal to its own, so a longer one is never held back; and not before
// F/2 have passed since the proof: other voters of ours have theirs by then.
type mourning struct {
	epoch kafka.Epoch   // the last one whose leader was proven dead
	from  kafka.Instant // when it may insist
	// insists tells that the round begins in this step; spent, that there was one.
	insists, spent bool
}

var noMourning = mourning{epoch: kafka.NoEpoch, from: kafka.Never}

// mayInsist tells whether our own round may begin instead of a grant.
func (m *mourning) mayInsist(c *Core, r VoteRequest) bool {
	equal := c.log.durablePosition() == Position{r.LastEpoch, r.End}
	mine := m.epoch == c.election.Epoch && m.epoch%2 == 1 && c.now >= m.from && !m.spent
	_, votes := c.quorum.voters().Node(r.Candidate.Node) // another node has no round to stand in the way of ours
	return mine && equal && votes && mayStand(c) && refusedBefore(c, r.Candidate.Node)
}

// insist has the round begin in this step.
func (m *mourning) insist() {
	m.insists, m.spent = true, true
}

// refusedBefore tells whether our last round is lost, or will not be granted by this
// voter.
func refusedBefore(c *Core, by kafka.NodeID) bool {
	switch role := c.role.(type) {
	case *follower:
		return !role.fetched && !role.farewell && !role.gone
	case *prospective:
		return !role.tally.won() && role.tally.refusedBy(by)
	}
	return false
}

// begins tells whether the round begins now.
func (m *mourning) begins(c *Core) bool {
	if !m.insists || m.epoch != c.election.Epoch {
		return false
	}
	m.insists = false
	c.trace("insists on its round", kafka.NoNode)
	return true
}
