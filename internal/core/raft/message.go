package raft

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// Call names a request. For a request of ours the core picks it and the answer
// brings it back; for a request of a peer whoever received it picks it and the
// core's answer names it.
type Call uint64

// Body is one of the requests and answers below. They carry no cluster id and
// no topic: whoever translates them from the wire checks both.
type Body interface{ body() }

// Message is a request or an answer on its way out.
type Message struct {
	Call Call
	// To and At are set for requests: the node, negative for a bootstrap
	// address whose node is not known, and where to reach it.
	To kafka.NodeID
	At Endpoint
	// Fresh asks for a new connection, because the old one has let a request
	// go unanswered (B2).
	Fresh bool
	Body  Body
}

// Hint is what every answer tells about the quorum: the epoch and, if known,
// its leader and the leader's addresses.
type Hint struct {
	Epoch     kafka.Epoch
	Leader    kafka.NodeID
	Endpoints Endpoints
}

// VoteRequest asks for a vote (52), or with PreVote whether it would be given.
type VoteRequest struct {
	Voter     kafka.ReplicaKey // whom it is meant for; Node -1 when not said
	Candidate kafka.ReplicaKey
	Epoch     kafka.Epoch
	LastEpoch kafka.Epoch
	End       kafka.Offset
	PreVote   bool
}

// VoteAnswer grants or refuses.
type VoteAnswer struct {
	Err     kerr.Code
	Hint    Hint
	Granted bool
}

// BeginRequest says that a leader leads (BeginQuorumEpoch, 53).
type BeginRequest struct {
	Voter     kafka.ReplicaKey
	Leader    kafka.NodeID
	Epoch     kafka.Epoch
	Endpoints Endpoints
}

// BeginAnswer acknowledges.
type BeginAnswer struct {
	Err  kerr.Code
	Hint Hint
}

// EndRequest says that a leader has resigned (EndQuorumEpoch, 54).
type EndRequest struct {
	Leader    kafka.NodeID
	Epoch     kafka.Epoch
	Preferred []kafka.ReplicaKey // most caught-up first
	Endpoints Endpoints
}

// EndAnswer acknowledges.
type EndAnswer struct {
	Err  kerr.Code
	Hint Hint
}

// FetchRequest asks for what follows Offset (Fetch, 1). A replica's Offset is
// what its disk holds; the leader counts on it.
type FetchRequest struct {
	Replica   kafka.ReplicaKey // Node -1 for a reader that is no replica
	Epoch     kafka.Epoch
	Offset    kafka.Offset
	LastEpoch kafka.Epoch
	MaxWait   time.Duration
	MaxBytes  int32
	// HighWatermark the replica knows: -1 for none, HighWatermarkUnsupported
	// below version 18.
	HighWatermark kafka.Offset
}

// HighWatermarkUnsupported stands in requests of peers that do not send theirs.
const HighWatermarkUnsupported kafka.Offset = 1<<63 - 1

// FetchAnswer brings records, or a place to truncate to, or a snapshot to load.
type FetchAnswer struct {
	Err           kerr.Code
	Hint          Hint
	HighWatermark kafka.Offset // -1 when unknown
	LogStart      kafka.Offset
	Diverging     *EpochEnd
	Snapshot      *SnapshotID

	// Read says, in an answer of ours, which records belong to it.
	Read Read
	// Span says, in an answer of a peer, what its records are.
	Span Span
	// Damaged tells, in an answer of a peer, that behind those of Span it brought
	// records that cannot be used.
	Damaged bool
}

// Read is a part of our log: whole batches from From, below Below, at most
// MaxBytes of them but at least one. It is empty when From = Below.
type Read struct {
	From, Below kafka.Offset
	MaxBytes    int32
}

// Span describes record batches without their bytes. Whoever makes it has
// checked that they follow one another and are sound.
type Span struct {
	Base, End kafka.Offset
	Epochs    []EpochStart // leader epoch of the first batch, and each change
	Voters    []At[Voters] // control records among them
	Levels    []At[int16]
}

// SnapshotRequest asks for bytes of a snapshot (FetchSnapshot, 59).
type SnapshotRequest struct {
	Replica  kafka.ReplicaKey
	Epoch    kafka.Epoch
	ID       SnapshotID
	Position int64
	MaxBytes int32
}

// SnapshotAnswer brings bytes of a snapshot. In an answer of ours the bytes
// are those of the file from Position, at most Bytes of them; in a peer's,
// Bytes is how many came.
type SnapshotAnswer struct {
	Err      kerr.Code
	Hint     Hint
	ID       SnapshotID
	Size     int64
	Position int64
	Bytes    int32
}

func (VoteRequest) body()     {}
func (VoteAnswer) body()      {}
func (BeginRequest) body()    {}
func (BeginAnswer) body()     {}
func (EndRequest) body()      {}
func (EndAnswer) body()       {}
func (FetchRequest) body()    {}
func (FetchAnswer) body()     {}
func (SnapshotRequest) body() {}
func (SnapshotAnswer) body()  {}
