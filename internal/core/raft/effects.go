package raft

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// Effects of one step. Only Election blocks; the rest is handed on in this
// order. The slices are used again by the next step.
type Effects struct {
	Election *Election // write and sync before anything is sent
	Truncate *Truncate
	Append   []Append
	Chunk    *Chunk
	Send     []Message // may leave at once
	SendSync []Pending // each names the write whose sync it waits for
	Refused  []Refused
	// Commit is the high watermark as far as our log is written, or -1:
	// everything below it is committed. It never falls.
	Commit   kafka.Offset
	Deadline kafka.Instant // step again no later than this
	Trace    []Trace
	// Fault is set when the state of the quorum contradicts ours so that going
	// on could lose committed records. The node has to stop.
	Fault error
}

// Truncate cuts the log: it ends at End afterwards.
type Truncate struct {
	Seq Seq
	End kafka.Offset
}

// Append writes the batches that end at End. Exactly one of the sources is
// set: a peer's answer (From, cut at End), a proposal (Ticket), or the leader's
// own control records.
type Append struct {
	Seq       Seq
	Base, End kafka.Offset
	Epoch     kafka.Epoch

	From    Call
	Ticket  uint64
	Control *Control
}

// Control is the content of a batch that a leader writes by itself, a record for
// each part that is set, in this order. The batch that begins an epoch has the
// change of leader, and the rest when the log does not hold it as it is; later
// ones change the voters.
type Control struct {
	Change *LeaderChange
	Level  *int16 // kraft.version
	Set    Voters // nil when not written
}

// LeaderChange begins an epoch.
type LeaderChange struct {
	Leader   kafka.NodeID
	Voters   []kafka.NodeID
	Granting []kafka.NodeID
}

// Chunk writes the bytes that a peer's answer brought to the snapshot being
// downloaded. With the last one the snapshot takes the place of the log, which
// an Installed reports.
type Chunk struct {
	Seq      Seq // of the last one; 0 before
	ID       SnapshotID
	Position int64
	From     Call
	Last     bool
}

// Pending is a message that promises what a write makes true.
type Pending struct {
	After   Seq
	Message Message
}

// Refused tells what became of a proposal that was not appended.
type Refused struct {
	Ticket uint64
	Code   kerr.Code
}

// Trace notes a decision for logs and tests.
type Trace struct {
	What  string // a constant
	Epoch kafka.Epoch
	Node  kafka.NodeID // whom it is about, or NoNode
}

// reset empties the effects and keeps their memory.
func (e *Effects) reset() {
	*e = Effects{
		Append: e.Append[:0], Send: e.Send[:0], SendSync: e.SendSync[:0],
		Refused: e.Refused[:0], Trace: e.Trace[:0],
	}
}
