package raft

import (
	"cmp"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// SnapshotID names a snapshot: the end offset (exclusive) of the records it
// stands for and the epoch of the last one. 0-0 is the checkpoint written when
// the directory was formatted; it is never sent to anybody (KIP-853).
type SnapshotID struct {
	EndOffset kafka.Offset
	Epoch     kafka.Epoch
}

// Snapshot is a finished snapshot on our disk, with its size in bytes.
type Snapshot struct {
	ID   SnapshotID
	Size int64
}

// Seq numbers the writes to the metadata directory in the order they were
// asked for. 0 is no write.
type Seq uint64

// logState is what the core knows of the metadata log.
type logState struct {
	start kafka.Offset
	// end is one past the last record asked to be written. written and synced
	// follow as the disk reports.
	// Invariant: start <= end, written <= end and synced <= written.
	end, written, synced kafka.Offset

	epochs    epochTable
	snapshots []Snapshot // by id, ascending
	voters    history[Voters]
	levels    history[int16] // kraft.version

	asked, done Seq // writes asked for, writes known to be durable
	truncated   Seq // the last truncation asked for
}

// next numbers the next write.
func (l *logState) next() Seq {
	l.asked++
	return l.asked
}

// votersAtEnd and levelAtEnd are in effect, committed or not.
func (l *logState) votersAtEnd() (At[Voters], bool) { return l.voters.at(l.end - 1) }
func (l *logState) levelAtEnd() int16 {
	last, _ := l.levels.at(l.end - 1)
	return last.Value
}

func (l *logState) oldestSnapshot() (SnapshotID, bool) {
	if len(l.snapshots) == 0 {
		return SnapshotID{}, false
	}
	return l.snapshots[0].ID, true
}

func (l *logState) latestSnapshot() (Snapshot, bool) {
	if len(l.snapshots) == 0 {
		return Snapshot{}, false
	}
	return l.snapshots[len(l.snapshots)-1], true
}

func (l *logState) snapshot(id SnapshotID) (Snapshot, bool) {
	i, found := l.findSnapshot(id)
	if !found {
		return Snapshot{}, false
	}
	return l.snapshots[i], true
}

func (l *logState) findSnapshot(id SnapshotID) (int, bool) {
	return slices.BinarySearchFunc(l.snapshots, id, func(s Snapshot, id SnapshotID) int {
		return cmp.Or(cmp.Compare(s.ID.EndOffset, id.EndOffset), cmp.Compare(s.ID.Epoch, id.Epoch))
	})
}

func (l *logState) addSnapshot(s Snapshot) {
	i, found := l.findSnapshot(s.ID)
	if found {
		l.snapshots[i] = s
		return
	}
	l.snapshots = slices.Insert(l.snapshots, i, s)
}

// dropSnapshot forgets a snapshot that is damaged, unless nothing else tells the
// epoch in which our log ends.
func (l *logState) dropSnapshot(id SnapshotID) {
	if _, known := l.epochs.last(); !known && id.EndOffset == l.end {
		return
	}
	if i, found := l.findSnapshot(id); found {
		l.snapshots = slices.Delete(slices.Clone(l.snapshots), i, i+1)
	}
}

// lastEpoch is the epoch of the last record; of the snapshot when no record
// follows it; else 0.
func (l *logState) lastEpoch() kafka.Epoch {
	if last, ok := l.epochs.last(); ok {
		return last.Epoch
	}
	if s, ok := l.latestSnapshot(); ok && s.ID.EndOffset == l.end {
		return s.ID.Epoch
	}
	return 0
}

func (l *logState) position() Position { return Position{l.lastEpoch(), l.end} }

// durablePosition is the position that is left after a crash, at least.
func (l *logState) durablePosition() Position {
	if l.synced == l.end {
		return l.position()
	}
	p := Position{End: l.synced}
	for _, s := range l.snapshots {
		if s.ID.EndOffset == l.synced {
			p.Epoch = s.ID.Epoch
		}
	}
	if e, ok := l.epochs.holding(l.synced - 1); ok {
		p.Epoch = e.Epoch
	}
	return p
}

// endOf answers where an epoch ended. If its end is where the oldest snapshot
// ends, then the epoch before is known from the snapshot's id.
func (l *logState) endOf(epoch kafka.Epoch) EpochEnd {
	end := l.epochs.endOf(epoch, l.end)
	if _, known := l.epochs.last(); !known {
		end = EpochEnd{l.lastEpoch(), l.end}
	}
	if s, ok := l.oldestSnapshot(); ok && end == (EpochEnd{epoch, s.EndOffset}) {
		return EpochEnd{s.Epoch, s.EndOffset}
	}
	return end
}

// verdict tells how a replica's log compares with ours.
type verdict int

const (
	valid        verdict = iota
	diverging            // it has to truncate
	needSnapshot         // what it asks for is no longer in the log
)

// validate compares a replica's end offset and last epoch with our log. A
// diverging one gets an end of an epoch that is certainly common or below.
func (l *logState) validate(offset kafka.Offset, epoch kafka.Epoch) (verdict, EpochEnd) {
	if l.start == 0 && offset == 0 {
		return valid, EpochEnd{}
	}
	if offset < l.start {
		return needSnapshot, EpochEnd{}
	}
	if s, ok := l.oldestSnapshot(); ok {
		if offset == l.start && epoch != s.Epoch || epoch < s.Epoch {
			return needSnapshot, EpochEnd{}
		}
	}
	if end := l.endOf(epoch); end.Epoch != epoch || end.End < offset {
		return diverging, end
	}
	return valid, EpochEnd{}
}

// truncationFor is where to cut after a leader said that our log diverges.
func (l *logState) truncationFor(e EpochEnd) kafka.Offset {
	if e.Epoch == 0 {
		return min(e.End, l.end)
	}
	ours := l.endOf(e.Epoch)
	if ours.Epoch == e.Epoch {
		return min(ours.End, e.End)
	}
	return min(ours.End, l.end)
}

// truncate cuts the log at end and numbers the write.
func (l *logState) truncate(end kafka.Offset) Seq {
	l.end = end
	l.written, l.synced = min(l.written, end), min(l.synced, end)
	l.epochs.truncate(end)
	l.voters.truncate(end)
	l.levels.truncate(end)
	l.truncated = l.next()
	return l.truncated
}

// install makes the log begin, empty, where a downloaded snapshot ends.
func (l *logState) install(s Snapshot, voters []At[Voters], levels []At[int16]) {
	end := s.ID.EndOffset
	l.start, l.end, l.written, l.synced = end, end, end, end
	l.epochs.entries = nil
	l.snapshots = append(l.snapshots[:0], s)
	l.voters.replace(voters...)
	l.levels.replace(levels...)
}

// reported notes how far a write has come. A report that is older than the
// last truncation says nothing about the end.
func (l *logState) reported(seq Seq, end kafka.Offset, durable bool) {
	if durable {
		l.done = max(l.done, min(seq, l.asked))
	}
	if seq < l.truncated || end > l.end {
		return
	}
	l.written = max(l.written, end)
	if durable {
		l.synced = max(l.synced, end)
	}
}

// durable tells whether everything asked for is on disk.
func (l *logState) durable() bool { return l.done == l.asked }

// moveStart notes that the log was cleaned: records below start and snapshots
// that end below it are gone.
func (l *logState) moveStart(start kafka.Offset) {
	if start <= l.start || start > l.end {
		return
	}
	l.start = start
	l.epochs.trim(start)
	l.voters.trim(start - 1)
	l.levels.trim(start - 1)
	l.snapshots = slices.DeleteFunc(l.snapshots, func(s Snapshot) bool { return s.ID.EndOffset < start })
}
