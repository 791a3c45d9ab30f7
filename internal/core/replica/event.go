package replica

import "github.com/ottla/ottla/internal/base/kafka"

// Event is something that happened to a replica. The types below are all there
// are.
type Event interface{ event() }

// Assigned is what committed metadata says about the partition.
type Assigned struct {
	Leader      kafka.NodeID // kafka.NoNode: none
	LeaderEpoch kafka.Epoch
	// Epoch is the partition epoch: it counts all changes.
	Epoch    int32
	Replicas []Member
	ISR      []kafka.NodeID
	// Log is how far the local log reaches right now.
	Log Extent
}

// Member is one replica and what metadata says about its broker.
type Member struct {
	Node kafka.NodeID
	// BrokerEpoch is that of the registration.
	BrokerEpoch kafka.BrokerEpoch
	// Active: registered, not fenced, not shutting down, and the directory of this
	// replica is online. Only active ones may join the ISR (KIP-841).
	Active bool
}

// Extent is the range of offsets that a log holds.
type Extent struct{ Start, End kafka.Offset }

// Configured changes what the topic asks for.
type Configured struct{ MinISR int }

// Appended says that the local log reaches End, or beyond: a producer's
// duplicate ends where it was appended the first time.
type Appended struct{ End kafka.Offset }

// Trimmed says that the local log now starts at Start: by retention, or by
// DeleteRecords.
type Trimmed struct{ Start kafka.Offset }

// Truncated says that the local log was cut and ends at End.
type Truncated struct{ End kafka.Offset }

// Fetched is the position of a follower that asks us for more.
type Fetched struct {
	Node        kafka.NodeID
	BrokerEpoch kafka.BrokerEpoch // kafka.NoBrokerEpoch: the request has none
	Offset      kafka.Offset      // its log end
	LogStart    kafka.Offset
}

// Proposed is the controller's answer to Effects.Propose (AlterPartition).
type Proposed struct {
	// To is what was proposed. An answer to a proposal that is no longer awaited
	// changes nothing.
	To *Proposal
	// Outcome says what to do about it.
	Outcome Outcome
	// ISR and Epoch are the partition's new state, for Accepted.
	ISR   []kafka.NodeID
	Epoch int32
}

// Outcome is how a proposal ended.
type Outcome uint8

// The outcomes of a proposal.
const (
	// Accepted: the state in the answer is committed.
	Accepted Outcome = iota
	// Declined: keep the committed ISR; another proposal may follow.
	Declined
	// Superseded: metadata has moved on; nothing may be proposed until it is
	// known here.
	Superseded
)

// LeaderSaid is what a fetch from the leader told the follower.
type LeaderSaid struct {
	HighWatermark kafka.Offset
	LogStart      kafka.Offset
}

// Diverged says that the leader's log does not continue ours (KIP-595): for the
// last epoch we have in common with it, its log ends at LeaderEnd and ours at
// OwnEnd.
type Diverged struct{ LeaderEnd, OwnEnd kafka.Offset }

// Misplaced says that the leader does not hold the offset that we asked for; its
// log is Leader.
type Misplaced struct{ Leader Extent }

// Tick asks for what time alone causes: followers that fell behind.
type Tick struct{}

func (Assigned) event()   {}
func (Configured) event() {}
func (Appended) event()   {}
func (Trimmed) event()    {}
func (Truncated) event()  {}
func (Fetched) event()    {}
func (Proposed) event()   {}
func (LeaderSaid) event() {}
func (Diverged) event()   {}
func (Misplaced) event()  {}
func (Tick) event()       {}
