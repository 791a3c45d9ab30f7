package group

import (
	"errors"

	"github.com/ottla/ottla/internal/base/invariant"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// unit is what waits for a unit of records: what to do once they are committed,
// or known to be lost. Units end in the order in which they were appended.
type unit interface {
	committed()
	failed(err kerr.Code)
	// late answers those who have waited for offsets.commit.timeout.ms. The
	// records are still on their way, and committed or failed will come.
	late(err kerr.Code)
}

// queue holds the units whose records are not committed yet, oldest first.
type queue struct {
	last  Seq
	units []queued
	late  timer // set to the deadline of the oldest unit that is not answered
}

type queued struct {
	seq      Seq
	unit     unit
	deadline kafka.Instant
	answered bool // late has been called
}

// add makes u end together with the last unit.
func (q *queue) add(u unit, deadline kafka.Instant) {
	q.units = append(q.units, queued{seq: q.last, unit: u, deadline: deadline})
}

// committed ends all units up to seq.
func (q *queue) committed(through Seq) {
	q.end(through, func(u unit) { u.committed() })
}

// failed ends units that were not appended.
func (q *queue) failed(f Failed) {
	if len(q.units) > 0 {
		oldest := q.units[0].seq
		invariant.Check(f.From <= oldest, "unit %d failed before unit %d ended", f.From, oldest)
	}
	code := appendError(f.Err)
	q.end(f.Through, func(u unit) { u.failed(code) })
}

// end takes the units up to seq out of the queue. What they do may add others.
func (q *queue) end(through Seq, do func(unit)) {
	n := 0
	for n < len(q.units) && q.units[n].seq <= through {
		do(q.units[n].unit)
		n++
	}
	rest := copy(q.units, q.units[n:])
	clear(q.units[rest:])
	q.units = q.units[:rest]
}

// overdue answers what has waited too long, and tells when the next is due.
func (q *queue) overdue(now kafka.Instant) (next kafka.Instant, more bool) {
	next = kafka.Never
	for i := range q.units {
		u := &q.units[i]
		switch {
		case u.answered:
		case u.deadline <= now:
			u.answered = true
			u.unit.late(kerr.CoordinatorNotAvailable)
		default:
			next = min(next, u.deadline)
		}
	}
	return next, next != kafka.Never
}

// abandon answers all who still wait. Nothing ends after it.
func (q *queue) abandon(err kerr.Code) {
	for _, u := range q.units {
		if !u.answered {
			u.unit.late(err)
		}
	}
	q.units = nil
}

// appendError is what clients of groups are told when the partition could not
// take the records: their own retries know these codes.
func appendError(err error) kerr.Code {
	var code kerr.Code
	if !errors.As(err, &code) {
		return kerr.UnknownServerError
	}
	switch code {
	case kerr.UnknownTopicOrPartition, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut:
		return kerr.CoordinatorNotAvailable
	case kerr.NotLeaderOrFollower, kerr.KafkaStorageError:
		return kerr.NotCoordinator
	case kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidFetchSize:
		return kerr.UnknownServerError
	}
	return code
}
