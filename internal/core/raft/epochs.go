package raft

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// EpochStart is the first offset of a leader epoch in the log.
type EpochStart struct {
	Epoch kafka.Epoch
	Start kafka.Offset
}

// EpochEnd is a leader epoch and the offset one past its last record.
type EpochEnd struct {
	Epoch kafka.Epoch
	End   kafka.Offset
}

// Position orders logs: by the epoch of the last record, then by the end.
type Position struct {
	Epoch kafka.Epoch
	End   kafka.Offset
}

// Covers tells whether a log at p is at least as far as one at q ("up to date").
func (p Position) Covers(q Position) bool {
	return p.Epoch > q.Epoch || p.Epoch == q.Epoch && p.End >= q.End
}

// epochTable is the leader epochs in the log, both columns strictly increasing.
type epochTable struct{ entries []EpochStart }

func (t *epochTable) last() (EpochStart, bool) {
	if len(t.entries) == 0 {
		return EpochStart{}, false
	}
	return t.entries[len(t.entries)-1], true
}

// holding gives the epoch that the record at an offset has.
func (t *epochTable) holding(offset kafka.Offset) (found EpochStart, ok bool) {
	for _, e := range t.entries {
		if e.Start > offset {
			break
		}
		found, ok = e, true
	}
	return found, ok
}

// assign notes that an epoch starts at an offset. Entries that begin at or
// after it held no record, so they go away.
func (t *epochTable) assign(e EpochStart) {
	if last, ok := t.last(); ok && last.Epoch >= e.Epoch {
		return
	}
	t.truncate(e.Start)
	t.entries = append(t.entries, e)
}

// truncate forgets epochs that start at or after the new end of the log.
func (t *epochTable) truncate(end kafka.Offset) {
	i := slices.IndexFunc(t.entries, func(e EpochStart) bool { return e.Start >= end })
	if i >= 0 {
		t.entries = t.entries[:i]
	}
}

// trim forgets epochs that end at or below the new start of the log and lets
// the one that holds it begin there.
func (t *epochTable) trim(start kafka.Offset) {
	holds := -1
	for i, e := range t.entries {
		if e.Start <= start {
			holds = i
		}
	}
	if holds >= 0 {
		t.entries = slices.Delete(t.entries, 0, holds)
		t.entries[0].Start = start
	}
}

// endOf answers where an epoch ended, in a log that ends at logEnd. An unknown
// epoch is answered with the largest known one below it; one below all known
// epochs ends where they start; one above ends with the log.
func (t *epochTable) endOf(epoch kafka.Epoch, logEnd kafka.Offset) EpochEnd {
	last, ok := t.last()
	if !ok || epoch >= last.Epoch {
		return EpochEnd{last.Epoch, logEnd}
	}
	if first := t.entries[0]; epoch < first.Epoch {
		return EpochEnd{epoch, first.Start}
	}
	i := slices.IndexFunc(t.entries, func(e EpochStart) bool { return e.Epoch > epoch })
	return EpochEnd{t.entries[i-1].Epoch, t.entries[i].Start}
}
