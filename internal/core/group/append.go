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
	committed(s *Shard)
	failed(s *Shard, err kerr.Code)
	// late answers those who have waited for offsets.commit.timeout.ms. The
	// records are still on their way, and committed or failed will come.
	late(s *Shard, err kerr.Code)
}

// queue holds the units whose records are not committed yet, oldest first.
type queue struct {
	last  Seq
	units []queued
	late  timer
}

type queued struct {
	seq      Seq
	unit     unit
	deadline kafka.Instant
	answered bool // late has been called
}

// open begins a unit; the records put from now on belong to it.
func (s *Shard) open(u unit) {
	s.queue.last++
	s.follow(u)
}

// follow makes u end together with the last unit that was opened.
func (s *Shard) follow(u unit) {
	deadline := s.now.At.Add(s.cfg.CommitTimeout)
	s.queue.units = append(s.queue.units, queued{seq: s.queue.last, unit: u, deadline: deadline})
	if s.queue.late.pos == 0 {
		s.timers.set(&s.queue.late, deadline)
	}
}

// committed ends all units up to seq.
func (s *Shard) committed(through Seq) {
	s.end(through, func(u unit) { u.committed(s) })
}

// failed ends units that were not appended.
func (s *Shard) failed(f Failed) {
	if len(s.queue.units) > 0 {
		oldest := s.queue.units[0].seq
		invariant.Check(f.From <= oldest, "unit %d failed before unit %d ended", f.From, oldest)
	}
	code := appendError(f.Err)
	s.end(f.Through, func(u unit) { u.failed(s, code) })
}

// end takes the units up to seq out of the queue. What they do may open others.
func (s *Shard) end(through Seq, do func(unit)) {
	n := 0
	for n < len(s.queue.units) && s.queue.units[n].seq <= through {
		do(s.queue.units[n].unit)
		n++
	}
	rest := copy(s.queue.units, s.queue.units[n:])
	clear(s.queue.units[rest:])
	s.queue.units = s.queue.units[:rest]
}

// answerLate answers what has waited too long.
func (s *Shard) answerLate() {
	next := kafka.Never
	for i := range s.queue.units {
		q := &s.queue.units[i]
		switch {
		case q.answered:
		case q.deadline <= s.now.At:
			q.answered = true
			q.unit.late(s, kerr.CoordinatorNotAvailable)
		default:
			next = min(next, q.deadline)
		}
	}
	if next != kafka.Never {
		s.timers.set(&s.queue.late, next)
	}
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

// resigned answers everything that waits.
func (s *Shard) resigned() {
	const gone = kerr.NotCoordinator
	for _, id := range s.ids() {
		g := s.groups[id]
		for _, m := range g.members {
			s.unpark(g, m, gone)
			s.unparkSync(m, gone)
		}
	}
	for _, q := range s.queue.units {
		if !q.answered {
			q.unit.late(s, gone)
		}
	}
	s.queue.units, s.timers, s.groups = nil, timers{}, nil
}
