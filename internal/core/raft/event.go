package raft

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// Event is something that happened; it is one of the types below.
type Event interface{ event() }

// Received is a request of a peer. It is answered once, in this step or later.
type Received struct {
	Call Call
	Body Body
}

// Answered is a peer's answer to a request of ours.
type Answered struct {
	Call Call
	Body Body
}

// Unanswered says that a request of ours has no answer: Code is
// BrokerNotAvailable when the peer could not be reached, UnsupportedVersion
// when it does not know this request, else the error that stood at the top of
// its answer.
type Unanswered struct {
	Call Call
	Code kerr.Code
}

// Passed says that the deadline has passed. Every other event looks at the
// deadlines too.
type Passed struct{}

// Propose asks the leader of an epoch to append one batch of Count records.
// It is answered by an Append or a Refused that names the ticket.
type Propose struct {
	Ticket uint64
	Epoch  kafka.Epoch
	Count  int32
}

// Written says that a write, and all before it, have reached the files but may
// not be durable: the log ends at End.
type Written struct {
	Seq Seq
	End kafka.Offset
}

// Synced says that a write, and all before it, are durable: the log's durable
// end is End.
type Synced struct {
	Seq Seq
	End kafka.Offset
}

// Failed says that a write or its sync failed. What the disk holds is not
// known any more; the core falls silent.
type Failed struct{ Seq Seq }

// SnapshotCreated says that a snapshot of our own was finished.
type SnapshotCreated struct{ Snapshot Snapshot }

// SnapshotDamaged says that a finished snapshot on our disk cannot be read. It is
// no snapshot any more.
type SnapshotDamaged struct{ ID SnapshotID }

// Installed says that a downloaded snapshot is complete, durable and stands
// for the log, which is now empty and begins at its end.
type Installed struct {
	Seq      Seq
	Snapshot Snapshot
	Voters   []At[Voters]
	Levels   []At[int16]
}

// Spoiled says that a downloaded snapshot is complete but cannot be read. It
// was dropped, and the log is as it was.
type Spoiled struct{ Seq Seq }

// Cleaned says that the log now starts at Start and that snapshots below it
// are gone.
type Cleaned struct{ Start kafka.Offset }

// Resign asks a leader to give up an epoch; other epochs are ignored.
type Resign struct{ Epoch kafka.Epoch }

// Dead is proof that the process of an epoch's leader is gone: the connection
// that carried our fetches was reset, and every address of the leader to which
// we had connected in this epoch has refused us twice, 20 ms apart. Nothing less
// is proof (B3).
type Dead struct {
	Leader kafka.NodeID
	Epoch  kafka.Epoch
}

// Shutdown asks the node to leave the quorum in good order; Core.Finished
// tells when it has. Until names when to stop waiting.
type Shutdown struct{ Until kafka.Instant }

func (Received) event()        {}
func (Answered) event()        {}
func (Unanswered) event()      {}
func (Passed) event()          {}
func (Propose) event()         {}
func (Written) event()         {}
func (Synced) event()          {}
func (Failed) event()          {}
func (SnapshotCreated) event() {}
func (SnapshotDamaged) event() {}
func (Installed) event()       {}
func (Spoiled) event()         {}
func (Cleaned) event()         {}
func (Resign) event()          {}
func (Dead) event()            {}
func (Shutdown) event()        {}
