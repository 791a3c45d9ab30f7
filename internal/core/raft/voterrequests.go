package raft

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// AddVoterRequest asks a leader to make a caught-up observer a voter
// (AddRaftVoter, 80).
type AddVoterRequest struct {
	Voter     kafka.ReplicaKey
	Endpoints Endpoints
	// AtOnce asks for the answer when the change is appended. Otherwise it comes
	// when the change is committed, and a new voter that waits for it must not be
	// the one whose fetch commits it (KIP-1186).
	AtOnce bool
}

// RemoveVoterRequest asks a leader to make a voter an observer
// (RemoveRaftVoter, 81).
type RemoveVoterRequest struct{ Voter kafka.ReplicaKey }

// RaiseRequest asks the leader of an epoch to finalize kraft.version at a level.
// It comes from the node's own controller.
type RaiseRequest struct {
	Epoch kafka.Epoch
	Level int16
	// Ask changes nothing: the answer tells whether it could be done.
	Ask bool
}

// ChangeAnswer answers the requests above.
type ChangeAnswer struct {
	Err kerr.Code
	Why string // "" when there is nothing to add to the code
}

// UpdateVoterRequest tells the leader of an epoch what a voter is: its
// addresses and the kraft.version levels it supports (UpdateRaftVoter, 82).
type UpdateVoterRequest struct {
	Epoch              kafka.Epoch
	Voter              kafka.ReplicaKey
	Endpoints          Endpoints
	MinLevel, MaxLevel int16
}

// UpdateVoterAnswer acknowledges.
type UpdateVoterAnswer struct {
	Err  kerr.Code
	Hint Hint
	// Why says, in an answer of ours, what is wrong with the voter's addresses or
	// levels. It is not sent; empty when the voter needs only ask again.
	Why string
}

// VersionsRequest asks a node for the kraft.version levels it supports
// (ApiVersions, 18), and so whether it is reached at an address.
type VersionsRequest struct {
	Node kafka.NodeID // who is expected to answer
}

// VersionsAnswer names the levels; the range is empty, 0 to -1, when the node
// names none.
type VersionsAnswer struct {
	Err                kerr.Code
	MinLevel, MaxLevel int16
}

func (AddVoterRequest) body()    {}
func (RemoveVoterRequest) body() {}
func (RaiseRequest) body()       {}
func (ChangeAnswer) body()       {}
func (UpdateVoterRequest) body() {}
func (UpdateVoterAnswer) body()  {}
func (VersionsRequest) body()    {}
func (VersionsAnswer) body()     {}
