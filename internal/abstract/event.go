package abstract

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// Kind names an event or a message.
type Kind string

// Requests of peers and the answers to them.
const (
	VoteRequest     Kind = "vote"
	VoteAnswer      Kind = "vote answer"
	BeginRequest    Kind = "begin"
	BeginAnswer     Kind = "begin answer"
	EndRequest      Kind = "end"
	EndAnswer       Kind = "end answer"
	FetchRequest    Kind = "fetch"
	FetchAnswer     Kind = "fetch answer"
	SnapshotRequest Kind = "fetch snapshot"
	SnapshotAnswer  Kind = "fetch snapshot answer"
	AddRequest      Kind = "add voter"
	RemoveRequest   Kind = "remove voter"
	ChangeAnswer    Kind = "change answer"
	UpdateRequest   Kind = "update voter"
	UpdateAnswer    Kind = "update voter answer"
	VersionsRequest Kind = "versions"
	VersionsAnswer  Kind = "versions answer"
	RaiseRequest    Kind = "raise"
)

// What else happens to a node.
const (
	Start      Kind = "start"      // its process begins
	Unanswered Kind = "unanswered" // a request of ours has no answer
	Passed     Kind = "passed"     // time
	Propose    Kind = "propose"    // our controller has records
	Written    Kind = "written"    // not yet durable
	Synced     Kind = "synced"     // durable
	Failed     Kind = "failed"     // a write
	Snapshot   Kind = "snapshot"   // one of our own is complete
	Lost       Kind = "lost"       // one of our own was found damaged
	Installed  Kind = "installed"  // a downloaded one stands for the log
	Spoiled    Kind = "spoiled"    // a downloaded one cannot be read
	Cleaned    Kind = "cleaned"    // the log begins later
	Resign     Kind = "resign"     // our controller wants to lead no more
	Dead       Kind = "dead"       // proof that a leader's process is gone
	Shutdown   Kind = "shutdown"
)

// Event is what happens to a node in a step. Which fields count is said by Kind.
type Event struct {
	Kind Kind
	Call uint64 `json:",omitempty"` // of a request or answer, and of Unanswered

	Message Message `json:",omitzero"`
	Disk    *Disk   `json:",omitempty"` // Start

	Seq      uint64       `json:",omitempty"` // Written, Synced, Installed, Spoiled
	End      kafka.Offset `json:",omitempty"` // Written, Synced; the new start of Cleaned
	Epoch    kafka.Epoch  `json:",omitempty"` // Propose, Resign, Dead
	Count    int32        `json:",omitempty"` // Propose: records
	Node     kafka.NodeID `json:",omitempty"` // Dead
	Code     kerr.Code    `json:",omitempty"` // Unanswered
	Snapshot SnapshotID   `json:",omitzero"`  // Snapshot, Lost, Installed
	Sets     []SetAt      `json:",omitempty"` // Installed: what the snapshot holds
	Levels   []LevelAt    `json:",omitempty"`

	// Chosen is the voter set that a leader appends in this step, except with the
	// record that begins its epoch. Which one it is was the choice of whoever asked;
	// whether there may be one is the protocol's.
	Chosen []Voter `json:",omitempty"`
}

// Message is a request or an answer; the zero value of a field that its Kind does
// not have says nothing.
type Message struct {
	Kind      Kind
	Code      kerr.Code        `json:",omitempty"`
	Epoch     kafka.Epoch      `json:",omitempty"` // of the sender
	Leader    kafka.NodeID     `json:",omitempty"` // as the sender knows it; -1: not
	Endpoints int              `json:",omitempty"` // how many of the leader it names
	To        kafka.ReplicaKey `json:",omitzero"`  // whom it is meant for; Node -1: not said
	From      kafka.ReplicaKey `json:",omitzero"`  // candidate, replica or voter
	PreVote   bool             `json:",omitempty"`
	Granted   bool             `json:",omitempty"`
	LastEpoch kafka.Epoch      `json:",omitempty"`
	Offset    kafka.Offset     `json:",omitempty"` // end of the sender's log
	Wait      int64            `json:",omitempty"` // nanoseconds that a fetch may be parked

	HighWatermark kafka.Offset `json:",omitempty"`
	Diverging     *EpochEnd    `json:",omitempty"`
	Snapshot      *SnapshotID  `json:",omitempty"`
	Records       *Records     `json:",omitempty"`
	Damaged       bool         `json:",omitempty"` // records after these could not be read
	Position      int64        `json:",omitempty"` // in a snapshot
	Bytes         int32        `json:",omitempty"`
	Size          int64        `json:",omitempty"`
	Level         int16        `json:",omitempty"` // Raise
	Ask           bool         `json:",omitempty"` // Raise: change nothing
}

// Records describe the batches of an answer.
type Records struct {
	Base, End kafka.Offset
	Epochs    []EpochStart
	Sets      []SetAt   `json:",omitempty"`
	Levels    []LevelAt `json:",omitempty"`
}

// Disk is what a process finds when it starts, and what it is.
type Disk struct {
	Self       kafka.ReplicaKey
	Endpoints  int
	Controller bool
	Static     []Voter

	Epoch     kafka.Epoch
	Voted     kafka.ReplicaKey
	Leader    kafka.NodeID
	Forgotten bool // there is a log but no election state, or was none and what follows from that still counts
	LogStart  kafka.Offset
	LogEnd    kafka.Offset
	Epochs    []EpochStart
	Snapshots []SnapshotID `json:",omitempty"`
	Sets      []SetAt      `json:",omitempty"`
	Levels    []LevelAt    `json:",omitempty"`
}

// Sent is a message that a step sends, or hands on to be sent after a write.
type Sent struct {
	Call    uint64
	To      kafka.NodeID // -1: an answer
	Held    bool         `json:",omitempty"` // until what is asked to be written is durable
	Message Message
}

// Step is one step of a node as it can be seen from outside.
type Step struct {
	Node  kafka.NodeID
	Event Event
	Seen  Seen
	Sent  []Sent `json:",omitempty"`
	// Asked is the last write that the step asks for, Cut the truncation among
	// them, Install the one that puts a snapshot in the place of the log.
	Asked   uint64 `json:",omitempty"`
	Cut     uint64 `json:",omitempty"`
	Install uint64 `json:",omitempty"`
	Fault   bool   `json:",omitempty"` // the node stops, because it was told to give up what is committed
}
