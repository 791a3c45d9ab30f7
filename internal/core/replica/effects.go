package replica

import "github.com/ottla/ottla/internal/base/kafka"

// Role is what a replica does in its leader epoch.
type Role uint8

// The roles of a replica.
const (
	// Idle: metadata has not assigned the replica, or no longer does.
	Idle Role = iota
	Leading
	Following
)

var roleNames = [...]string{"idle", "leading", "following"}

func (r Role) String() string { return roleNames[r] }

// Effects are what has to happen because of one event. The driver hands in the
// same value again and again; Step resets it.
type Effects struct {
	// Turned: the role or the leader epoch changed. What waits on the old one
	// must be answered.
	Turned bool
	// HighWatermarkMoved: everything below Core.HighWatermark is committed now.
	HighWatermarkMoved bool
	// ISRChanged: the committed ISR is another.
	ISRChanged bool
	// LowWatermarkMoved: all live replicas start at Core.LowWatermark or later.
	LowWatermarkMoved bool
	// Propose is a change of the ISR to ask the controller for; nil: none.
	Propose *Proposal
	// Truncate: cut the local log at TruncateTo before the next fetch.
	Truncate   bool
	TruncateTo kafka.Offset
	// Restart: drop the whole local log and begin anew at StartAt, where the
	// leader's log begins.
	Restart bool
	// RaiseStart: delete what lies before StartAt, as the leader did.
	RaiseStart bool
	StartAt    kafka.Offset
	// Err is the answer to the fetch that was stepped, nil when it may be served.
	Err error
}

// Proposal is an ISR that a leader asks the controller for. Until its answer
// comes back as Proposed no other one is made.
type Proposal struct {
	LeaderEpoch kafka.Epoch
	Epoch       int32 // partition epoch the proposal is based on
	Was         int   // how many were in the ISR that it changes
	ISR         []Member
}
