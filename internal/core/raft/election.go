package raft

import "github.com/ottla/ottla/internal/base/kafka"

// Election is the state that must survive a crash: the content of the file
// quorum-state. Its epoch never falls; a vote is cleared only by a higher epoch.
type Election struct {
	Epoch kafka.Epoch
	// Leader of the epoch, or NoNode. When it names ourselves and we are not
	// leading, then we led this epoch and vote for nobody in it (B1).
	Leader kafka.NodeID
	// Voted is who got our vote in this epoch; NoVote when nobody did.
	Voted kafka.ReplicaKey
}

// NoVote is the key of nobody.
var NoVote = kafka.ReplicaKey{Node: kafka.NoNode}

// NoElection is the state of a node that has no quorum-state file.
func NoElection() Election { return Election{Leader: kafka.NoNode, Voted: NoVote} }

func (e Election) hasVoted() bool { return e.Voted.Node >= 0 }

// inEpoch gives the state of epoch, with the vote kept if it is the same one.
func (e Election) inEpoch(epoch kafka.Epoch, leader kafka.NodeID) Election {
	next := Election{Epoch: epoch, Leader: leader, Voted: NoVote}
	if epoch == e.Epoch {
		next.Voted = e.Voted
	}
	return next
}
