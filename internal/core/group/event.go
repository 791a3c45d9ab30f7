package group

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// Time is the time of a step: At drives deadlines, UnixMilli goes into records
// and is what retention counts by.
type Time struct {
	At        kafka.Instant
	UnixMilli int64
}

// Event is what a Shard can be told: a Request, Tick, Committed, Failed,
// TopicsDeleted, Loaded or Resigned.
type Event interface{ event() }

// Tick says that the deadline of an earlier step has passed.
type Tick struct{}

// Seq numbers the units of records of a shard, from 1 upwards.
type Seq uint64

// Committed says that all units up to Through are below the high watermark.
type Committed struct{ Through Seq }

// Failed says that the units From to Through were not appended, and never will
// be. It comes in the order of the units, like Committed.
type Failed struct {
	From, Through Seq
	Err           error
}

// TopicsDeleted says that topics are gone, so that the offsets go too that were
// committed for exactly these.
type TopicsDeleted struct{ Topics []Topic }

// Topic is one of all the topics that a name has been given to. In offsets that
// do not say for which of them they were committed the id is zero.
type Topic struct {
	Name string
	ID   kafka.TopicID
}

// Loaded says that every record of the partition has been replayed.
type Loaded struct{}

// Resigned says that this node no longer leads the partition. Everything that
// waits is answered with NOT_COORDINATOR and the shard is of no use afterwards.
type Resigned struct{}

func (Tick) event()          {}
func (Committed) event()     {}
func (Failed) event()        {}
func (TopicsDeleted) event() {}
func (Loaded) event()        {}
func (Resigned) event()      {}

// Request is an event that is answered: it appears exactly once in Answered of
// some step, with its reply filled in. From Step until then it belongs to the
// shard; afterwards the shard may still read it but changes it no more.
type Request interface {
	Event
	call() *Call
}

// Call is what all requests have in common.
type Call struct {
	Group string
	// Token is the caller's; the shard does not look at it.
	Token any
	// Err is the error of the whole answer, None for success. It is set when
	// the request is answered.
	Err kerr.Code
}

func (c *Call) call() *Call { return c }
func (c *Call) event()      {}

// CallOf gives the common part of a request.
func CallOf(r Request) *Call { return r.call() }

// Record is one record to append. Records with the same Seq form a unit that
// is appended whole or not at all. Key and Value are valid until the next Step.
type Record struct {
	Seq   Seq
	Key   []byte
	Value []byte // nil: a tombstone
	// Marker, where it is set, is a transaction marker to be written instead. It is
	// alone in its unit, and in its batch.
	Marker *EndTransaction
}

// Effects is what has to happen because of a step. The slices are used again
// by the next step.
type Effects struct {
	Append   []Record
	Answered []Request
	Deadline kafka.Instant // Tick no later than this
}
