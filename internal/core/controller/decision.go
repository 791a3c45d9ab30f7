package controller

import (
	"github.com/ottla/ottla/internal/base/invariant"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// MaxRecords is the most that one user operation may write, and the most that
// fits one batch of the metadata log.
const MaxRecords = 10_000

// Versioned is a record and the version to write it at.
type Versioned struct {
	Message metarec.Message
	Version int16
}

// Decision is what a request amounts to.
type Decision[T any] struct {
	// Records are the change, in order. None: nothing changes, but the reply
	// may rest on records that are not committed yet.
	Records []Versioned
	// Atomic: all records must become visible together, in one batch.
	Atomic bool
	// Reply is valid if Err is nil. It may refuse parts of the request.
	Reply T
	// Err refuses the request as a whole.
	Err error
	// Then changes the soft state, as the records change the image: whoever
	// takes the decision over calls it once all records are in the log, before
	// the next decision is made. When they do not get there it must not be
	// called, for nothing has happened. Nil: no change.
	Then func()
}

// then adds the change of the soft state that goes with a decision.
func (d Decision[T]) then(change func()) Decision[T] {
	if d.Err == nil {
		d.Then = change
	}
	return d
}

func refuse[T any](err error) Decision[T] { return Decision[T]{Err: err} }

func refusef[T any](code kerr.Code, format string, args ...any) Decision[T] {
	return refuse[T](kerr.Errorf(code, format, args...))
}

// draft is a decision in the making. Later steps see what earlier ones wrote.
type draft struct {
	img     *image.Image // with all records but the last unsettled ones
	records []Versioned
	settled int // records that img contains
}

func draftOn(img *image.Image) *draft { return &draft{img: img} }

// add writes a record that has only version 0.
func (d *draft) add(m metarec.Message) { d.addAt(m, 0) }

func (d *draft) addAt(m metarec.Message, version int16) {
	d.records = append(d.records, Versioned{m, version})
}

// image is the image with all records so far.
func (d *draft) image() *image.Image {
	if d.settled == len(d.records) {
		return d.img
	}
	recs := make([]metarec.Message, 0, len(d.records)-d.settled)
	for _, r := range d.records[d.settled:] {
		recs = append(recs, r.Message)
	}
	stride, err := image.Step(d.img, recs)
	invariant.Check(err == nil, "decided records do not apply: %v", err)
	d.img, d.settled = stride.Image(), len(d.records)
	return d.img
}

// nextOffset is where the next record of the draft goes.
func (d *draft) nextOffset() kafka.Offset {
	return d.img.NextOffset() + kafka.Offset(len(d.records)-d.settled)
}

// level is the finalized metadata.version, which decides record versions. No
// decision changes it and then writes records that depend on it.
func (d *draft) level() image.Level { return d.img.Level() }

// atomically finishes a decision whose records belong together.
func atomically[T any](d *draft, reply T) Decision[T] {
	return Decision[T]{Records: d.records, Atomic: true, Reply: reply}
}

// piecewise finishes a decision of which a failover may keep the first part.
func piecewise[T any](d *draft, reply T) Decision[T] {
	return Decision[T]{Records: d.records, Reply: reply}
}

// bounded refuses a user operation that writes too much (KAFKA-14996).
func bounded[T any](decided Decision[T]) Decision[T] {
	if n := len(decided.Records); n > MaxRecords {
		return refusef[T](kerr.PolicyViolation,
			"excessively large batch operation: it needs %d records, at most %d are allowed", n, MaxRecords)
	}
	return decided
}
