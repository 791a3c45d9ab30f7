package abstract

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// lastEpochOf is the epoch of the last record below an end.
func (s *State) lastEpochOf(end kafka.Offset) kafka.Epoch {
	last := kafka.NoEpoch
	for _, e := range s.epochs {
		if e.Start < end {
			last = e.Epoch
		}
	}
	if last >= 0 {
		return last
	}
	last = 0
	for _, id := range s.snapshots {
		if id.End == end {
			last = id.Epoch
		}
	}
	return last
}

// ended is where an epoch ended in our log (6.6).
func (s *State) ended(epoch kafka.Epoch) EpochEnd {
	found := EpochEnd{s.LastEpoch, s.LogEnd}
	for i, e := range s.epochs {
		if e.Epoch > epoch {
			found = EpochEnd{epoch, e.Start}
			if i > 0 {
				found.Epoch = s.epochs[i-1].Epoch
			}
			break
		}
	}
	if len(s.snapshots) > 0 && found == (EpochEnd{epoch, s.snapshots[0].End}) {
		return EpochEnd{s.snapshots[0].Epoch, found.End}
	}
	return found
}

type verdict int

const (
	valid verdict = iota
	diverging
	needsSnapshot
)

// compare holds a replica's end against our log (6.6).
func (s *State) compare(offset kafka.Offset, epoch kafka.Epoch) (verdict, EpochEnd) {
	if s.LogStart == 0 && offset == 0 {
		return valid, EpochEnd{}
	}
	if len(s.snapshots) > 0 {
		oldest := s.snapshots[0]
		if offset < s.LogStart || offset == s.LogStart && epoch != oldest.Epoch || epoch < oldest.Epoch {
			return needsSnapshot, EpochEnd{}
		}
	}
	if x := s.ended(epoch); x.Epoch != epoch || x.End < offset {
		return diverging, x
	}
	return valid, EpochEnd{}
}

// latest is the newest snapshot that may be sent: the one of format time, 0-0,
// never is.
func (s *State) latest() (SnapshotID, bool) {
	if n := len(s.snapshots); n > 0 && s.snapshots[n-1] != (SnapshotID{}) {
		return s.snapshots[n-1], true
	}
	return SnapshotID{}, false
}

// committed is what is certainly committed, as far as this node knows.
func (s *State) committed() kafka.Offset {
	if n := len(s.snapshots); n > 0 {
		return max(s.HighWatermark, s.snapshots[n-1].End)
	}
	return s.HighWatermark
}

// cutFor is where a follower cuts its log when a leader says that it diverges.
func (s *State) cutFor(d EpochEnd) kafka.Offset {
	if d.Epoch == 0 {
		return min(d.End, s.LogEnd)
	}
	ours := s.ended(d.Epoch)
	if ours.Epoch == d.Epoch {
		return min(ours.End, d.End)
	}
	return ours.End
}

// truncate cuts the log, and with it what its records said.
func (s *State) truncate(end kafka.Offset) {
	s.LogEnd, s.synced = end, min(s.synced, end)
	s.epochs = keep(s.epochs, func(e EpochStart) bool { return e.Start < end })
	s.sets = keep(s.sets, func(e SetAt) bool { return e.Offset < end })
	s.levels = keep(s.levels, func(e LevelAt) bool { return e.Offset < end })
	s.LastEpoch = s.lastEpochOf(end)
	s.inEffect()
}

// append puts records at the end of the log.
func (s *State) append(r Records) {
	for _, e := range r.Epochs {
		if n := len(s.epochs); n == 0 || s.epochs[n-1].Epoch < e.Epoch {
			s.epochs = append(keep(s.epochs, func(o EpochStart) bool { return o.Start < e.Start }), e)
		}
	}
	s.sets = append(slices.Clip(s.sets), r.Sets...)
	s.levels = append(slices.Clip(s.levels), r.Levels...)
	s.LogEnd = r.End
	s.LastEpoch = s.lastEpochOf(r.End)
	s.inEffect()
}

// startAt lets the log begin later. What is in effect where it begins stays known.
func (s *State) startAt(start kafka.Offset) {
	if start <= s.LogStart || start > s.LogEnd {
		return
	}
	s.LogStart = start
	for i := len(s.epochs) - 1; i >= 0; i-- {
		if s.epochs[i].Start <= start {
			s.epochs = slices.Clone(s.epochs[i:])
			s.epochs[0].Start = start
			break
		}
	}
	s.sets = since(s.sets, func(e SetAt) bool { return e.Offset < start })
	s.levels = since(s.levels, func(e LevelAt) bool { return e.Offset < start })
	s.snapshots = keep(s.snapshots, func(id SnapshotID) bool { return id.End >= start })
	s.LastEpoch = s.lastEpochOf(s.LogEnd)
}

// install puts a snapshot in the place of the log.
func (s *State) install(id SnapshotID, sets []SetAt, levels []LevelAt) {
	s.LogStart, s.LogEnd, s.synced = id.End, id.End, id.End
	s.epochs, s.snapshots, s.sets, s.levels = nil, []SnapshotID{id}, sets, levels
	s.LastEpoch = id.Epoch
	s.HighWatermark = max(s.HighWatermark, id.End)
	s.inEffect()
}

// withoutSnapshot forgets a damaged one, unless the log ends with it.
func (s *State) withoutSnapshot(id SnapshotID) {
	left := slices.DeleteFunc(slices.Clone(s.snapshots), func(o SnapshotID) bool { return o == id })
	was := s.LastEpoch
	before := s.snapshots
	s.snapshots = left
	if s.lastEpochOf(s.LogEnd) != was {
		s.snapshots = before
	}
}

// withSnapshot adds a snapshot in order.
func (s *State) withSnapshot(id SnapshotID) {
	if slices.Contains(s.snapshots, id) {
		return
	}
	s.snapshots = append(slices.Clip(s.snapshots), id)
	slices.SortFunc(s.snapshots, func(a, b SnapshotID) int {
		if a.End != b.End {
			return int(a.End - b.End)
		}
		return int(a.Epoch - b.Epoch)
	})
	s.LastEpoch = s.lastEpochOf(s.LogEnd)
}

// keep is the part of a list that fits; the list stays as it is.
func keep[T any](all []T, fits func(T) bool) []T {
	for i, x := range all {
		if !fits(x) {
			out := slices.Clone(all[:i])
			for _, x := range all[i:] {
				if fits(x) {
					out = append(out, x)
				}
			}
			return out
		}
	}
	return slices.Clip(all)
}

// since drops all that is below but the last one of it.
func since[T any](all []T, below func(T) bool) []T {
	first := 0
	for i, x := range all {
		if below(x) {
			first = i
		}
	}
	return all[first:]
}
