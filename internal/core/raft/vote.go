package raft

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// vote answers a Vote. Nothing asks whether the candidate or we are in any
// voter set: observers vote too (KIP-853).
func vote(c *Core, r VoteRequest) VoteAnswer {
	granted, code := false, checkVote(c, r)
	if code == kerr.None {
		if r.Epoch > c.election.Epoch {
			c.becomeUnattached(r.Epoch, kafka.NoNode, inherited(c))
		}
		code = checkVoterKey(c, r.Voter)
	}
	switch {
	case code != kerr.None:
	case r.PreVote:
		granted = grantsRound(c, r)
	case grants(c, r):
		granted = true
		recordVote(c, r.Candidate)
	}
	return VoteAnswer{Err: code, Hint: c.hint(), Granted: granted}
}

func checkVote(c *Core, r VoteRequest) kerr.Code {
	legal := r.LastEpoch < r.Epoch || r.PreVote && r.LastEpoch == r.Epoch
	if r.End < 0 || r.LastEpoch < 0 || !legal {
		return kerr.InvalidRequest
	}
	return checkVoterOnly(c, r.Candidate.Node, r.Epoch)
}

// checkVoterOnly is what requests between voters have in common. An epoch that
// is not believed may be so in a second: the peer is to ask again, and INVALID_REQUEST
// would end an Apache Kafka.
func checkVoterOnly(c *Core, id kafka.NodeID, epoch kafka.Epoch) kerr.Code {
	switch {
	case epoch < c.election.Epoch:
		return kerr.FencedLeaderEpoch
	case id < 0:
		return kerr.InvalidRequest
	case !believable(c, epoch):
		return kerr.BrokerNotAvailable
	}
	return kerr.None
}

// checkVoterKey refuses what was meant for another node or directory.
func checkVoterKey(c *Core, to kafka.ReplicaKey) kerr.Code {
	if to.Node >= 0 && !to.Matches(c.cfg.Self) {
		return kerr.InvalidVoterKey
	}
	return kerr.None
}

// grants is the table of KIP-996, with B1, B3 and B5. The epoch of the request is
// ours by now.
func grants(c *Core, r VoteRequest) bool {
	switch role := c.role.(type) {
	case *leader:
		return false
	case *follower:
		return r.PreVote && upToDate(c, r) && (!role.fetched || role.farewell || role.gone)
	case *unattached, *prospective:
		if r.PreVote {
			return upToDate(c, r)
		}
		return grantsVote(c, r)
	}
	return r.PreVote && upToDate(c, r) // candidate, resigned
}

// upToDate tells whether an asker's log is at least as far as ours.
func upToDate(c *Core, r VoteRequest) bool {
	return Position{r.LastEpoch, r.End}.Covers(c.log.position())
}

// onlyShorter tells whether a pre-vote was refused for nothing but a log that is
// shorter than ours (B6).
func onlyShorter(c *Core, r VoteRequest) bool {
	if !r.PreVote {
		return false
	}
	r.LastEpoch, r.End = c.log.lastEpoch(), c.log.end
	return grants(c, r)
}

func grantsVote(c *Core, r VoteRequest) bool {
	known, _ := c.role.leader()
	switch {
	case r.Candidate.Node == c.cfg.Self.Node || c.cfg.Self.Node < 0:
		return false
	case c.election.hasVoted():
		return c.election.Voted.Matches(r.Candidate)
	case known >= 0: // ourselves too, if we led this epoch (B1)
		return false
	}
	return upToDate(c, r) && c.lost.none(r.Epoch)
}

// recordVote makes a vote durable before it is given. The timer starts anew,
// so that the candidate has its time; a round of our own starts again.
func recordVote(c *Core, candidate kafka.ReplicaKey) {
	if c.election.hasVoted() {
		return
	}
	next := c.election
	next.Voted = candidate
	c.elect(next)
	switch role := c.role.(type) {
	case *unattached:
		c.enter(&unattached{known: role.known, expires: electionTimer(c)})
	case *prospective:
		p := newProspective(c)
		p.rivals.granted = c.now
		c.enter(p)
	}
}

// voteAnswered counts an answer in the round it belongs to.
func voteAnswered(c *Core, from kafka.NodeID, granted bool) {
	switch role := c.role.(type) {
	case *prospective:
		role.tally.record(from, granted)
	case *candidate:
		role.tally.record(from, granted)
	}
}
