package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// TruncateTo drops every batch that reaches to or above end, and makes that
// durable before it returns. The log then ends at end, or at the beginning of
// the batch that held it. Readers that hold a Slice go on reading the old bytes.
func (l *Log) TruncateTo(end kafka.Offset) error {
	l.sealed.Lock()
	defer l.sealed.Unlock()
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if end >= l.end {
		return l.fail("truncate", truncation{l}.forgetBarren())
	}
	if end <= l.segments[0].base {
		return l.fail("truncate", truncation{l}.restart(end))
	}
	return l.fail("truncate", truncation{l}.truncate(end))
}

// forgetBarren drops the epochs that began here and brought no record: their
// leader was replaced before it appended anything. Elsewhere nobody knows of
// them, so a follower that went on naming one would never agree with its leader.
func (l truncation) forgetBarren() error {
	l.mu.Lock()
	changed := l.epochs.truncateEnd(l.end)
	l.mu.Unlock()
	if !changed {
		return nil
	}
	return l.writeEpochs(true)
}

// TruncateFullyAndStartAt drops all records; the log then starts and ends at an
// offset. A follower does so when the leader's log begins above its own end.
func (l *Log) TruncateFullyAndStartAt(o kafka.Offset) error {
	l.sealed.Lock()
	defer l.sealed.Unlock()
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	l.syncing.Lock()
	defer l.syncing.Unlock()
	return l.fail("truncate", truncation{l}.restart(o))
}

// truncation is what a truncation does to a log whose writer and syncing are
// held.
type truncation struct{ *Log }

// lower lets the recovery point fall before the bytes above it go. syncing is
// held, so that no sync raises it again meanwhile.
func (l truncation) lower(to kafka.Offset) error {
	l.mu.Lock()
	falls := to < l.recovery
	l.recovery = min(l.recovery, to)
	l.mu.Unlock()
	l.stir() // what is checkpointed changes
	if !falls || l.beforeTruncate == nil {
		return nil
	}
	return l.beforeTruncate(to)
}

func (l truncation) truncate(end kafka.Offset) error {
	if err := l.lower(end); err != nil {
		return err
	}
	l.shape.Lock()
	defer l.shape.Unlock()
	i := holder(l.segments, end)
	if l.segments[i].base == end {
		i-- // not the first one: that would be a restart
	}
	if err := l.dropSegments(i + 1); err != nil {
		return err
	}
	last := l.active()
	pos, end, err := l.cutAt(last, end)
	if err != nil {
		return err
	}
	if err := l.cut(last, pos, end); err != nil {
		return err
	}
	l.mu.Lock()
	l.end = end
	l.start = min(l.start, end)
	l.epochs.truncateEnd(end)
	l.mu.Unlock()
	return l.settle()
}

// settle brings what lies beside the segments in line with a truncated log, and
// makes all of it durable before anything is appended: a snapshot or an epoch
// of the lost records must not come back after a crash.
func (l truncation) settle() error {
	if err := l.reloadProducers(); err != nil {
		return err
	}
	if err := l.writeEpochs(true); err != nil {
		return err
	}
	return l.fs.SyncDir(l.folder.path())
}

// dropSegments removes the segments from index i on, the last one first: a
// crash in between leaves no hole.
func (l truncation) dropSegments(i int) error {
	for len(l.segments) > i {
		last := l.active()
		l.mu.Lock()
		l.segments = slices.Clone(l.segments[:len(l.segments)-1])
		l.mu.Unlock()
		l.size.Add(-last.size)
		if err := last.remove(); err != nil {
			return err
		}
	}
	return nil
}

// cutAt finds where a segment has to end so that nothing reaches above end.
func (l truncation) cutAt(s *segment, end kafka.Offset) (int64, kafka.Offset, error) {
	pos, size, err := s.locate(end)
	if err != nil {
		return 0, 0, err
	}
	_, err = s.scan(pos, size, false, func(h batch.Header, _ int64, _ []byte) bool {
		end = min(end, h.BaseOffset)
		return false
	})
	return pos, end, err
}

// cut shortens a segment and its indexes. The log comes last, the time index
// before it: at every step the offset index reaches no further than the time
// index, and neither further than the log.
func (l truncation) cut(s *segment, pos int64, end kafka.Offset) error {
	if err := l.saveEpochs(); err != nil {
		return err
	}
	if err := s.flushIndexes(); err != nil {
		return err
	}
	for _, x := range [...]*index{&s.offsets, &s.times} {
		if err := x.cut(&l.mu, end); err != nil {
			return err
		}
	}
	if err := l.cutLog(s, pos); err != nil {
		return err
	}
	if err := s.aborted.truncate(end); err != nil {
		return err
	}
	l.size.Add(pos - s.size)
	l.mu.Lock()
	defer l.mu.Unlock()
	s.size, s.marks = pos, marks{}
	s.timesKnown, s.maxTime, s.maxTimeAt = false, noTime, s.base
	s.sinceIndex, s.unsynced, s.indexUnsaved = 0, false, true
	if pos == 0 {
		s.firstTime = noTime
	}
	return nil
}

// cutLog shortens the log file in place, or, while somebody may still read what
// goes, replaces it with a copy of what stays.
func (l truncation) cutLog(s *segment, pos int64) error {
	if s.log.pinnedAbove(pos) {
		return l.replaceLog(s, pos)
	}
	f, err := s.log.acquire()
	if err != nil {
		return err
	}
	defer s.log.release()
	if err := f.Truncate(pos); err != nil {
		return err
	}
	return f.Sync()
}

func (l truncation) replaceLog(s *segment, pos int64) error {
	old, err := s.log.acquire()
	if err != nil {
		return err
	}
	defer s.log.release()
	name := s.log.path()
	aside, err := l.fs.OpenFile(name+tmpSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(aside, io.NewSectionReader(old, 0, pos))
	if err == nil {
		err = aside.Sync()
	}
	if closeErr := aside.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = l.fs.Rename(name+tmpSuffix, name)
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	pinned := s.log
	s.log = l.files.file(l.folder, s.base, logSuffix)
	return pinned.retire()
}

// cut drops the entries at or above an offset.
func (x *index) cut(mu *sync.RWMutex, end kafka.Offset) error {
	n, err := x.entriesBelow(end)
	if err != nil {
		return err
	}
	if err := x.truncateFile(n); err != nil {
		return err
	}
	last := entry{offset: x.file.base, time: noTime}
	if n > 0 {
		if last, err = x.view().at(n - 1); err != nil {
			return err
		}
	}
	mu.Lock()
	defer mu.Unlock()
	x.n, x.last = n, last
	return nil
}

func (x *index) entriesBelow(end kafka.Offset) (int, error) {
	v := x.view()
	lo, hi := 0, v.n
	for lo < hi {
		mid := (lo + hi) / 2
		e, err := v.at(mid)
		if err != nil {
			return 0, err
		}
		if e.offset < end {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// restart drops all segments and begins an empty one at o.
func (l truncation) restart(o kafka.Offset) error {
	if err := l.folder.bear(); err != nil {
		return err
	}
	if err := l.lower(o); err != nil {
		return err
	}
	l.shape.Lock()
	defer l.shape.Unlock()
	for i := len(l.segments) - 1; i >= 0; i-- {
		if err := l.segments[i].remove(); err != nil {
			return err
		}
	}
	// The old files are gone for good before a new one says where the log is.
	if err := l.fs.SyncDir(l.folder.path()); err != nil {
		return err
	}
	fresh := l.newSegment(o, 0, "")
	fresh.timesKnown = true
	if err := create(fresh); err != nil {
		return err
	}
	l.size.Store(0)
	l.mu.Lock()
	l.segments = []*segment{fresh}
	l.start, l.end, l.recovery = o, o, o
	l.epochs = epochs{}
	l.mu.Unlock()
	return l.settle()
}

// SetStart raises the log start offset: what lies below is no longer read, and
// whole segments of it are removed by the next DeleteOld. A lower offset changes
// nothing; one above the end is OFFSET_OUT_OF_RANGE.
func (l *Log) SetStart(o kafka.Offset) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usable(); err != nil || o <= l.start {
		return err
	}
	if o > l.end {
		return kerr.Errorf(kerr.OffsetOutOfRange, "log start %d is above the end %d", o, l.end)
	}
	return l.refuse("raise log start", l.raiseStart(o))
}

func (l *Log) raiseStart(o kafka.Offset) error {
	l.mu.Lock()
	l.start = max(l.start, o)
	changed := l.epochs.truncateStart(l.start)
	l.mu.Unlock()
	l.stir() // what is checkpointed changes
	if !changed {
		return nil
	}
	return l.writeEpochs(false)
}

// reloadProducers sets the producer state to what the log says at its end: the
// newest snapshot and what follows it. Snapshots above the end are removed.
func (l truncation) reloadProducers() error {
	files, err := l.folder.list()
	if err != nil {
		return err
	}
	var snapshots []kafka.Offset
	for _, f := range files {
		if f.suffix == snapshotSuffix {
			snapshots = append(snapshots, f.base)
		}
	}
	return l.reloadProducersFrom(snapshots, l.end)
}

// reloadProducersFrom does so with no snapshot above an offset, so that the
// transaction indexes from there on are filled again.
func (l truncation) reloadProducersFrom(snapshots []kafka.Offset, o kafka.Offset) error {
	ps, err := l.snapshots.load(snapshots, o, l.logger())
	if err != nil {
		return err
	}
	return l.replay(ps, max(l.snapshots.at, l.segments[0].base))
}

// replay takes the batches from an offset on into the producer state.
func (l truncation) replay(ps producers, from kafka.Offset) error {
	now := l.nowMs()
	for _, s := range l.segments[holder(l.segments, from):] {
		pos, size, err := s.locate(from)
		if err != nil {
			return err
		}
		var ended []AbortedTxn
		var failed error
		_, err = s.scan(pos, size, false, func(h batch.Header, pos int64, b []byte) bool {
			if h.Control() && h.HasProducer() {
				if b, failed = s.read(pos, h.Size()); failed != nil {
					return false
				}
			}
			if t, aborted := ps.took(h, b, now); aborted {
				ended = append(ended, t)
			}
			return true
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		for _, t := range ended {
			if err := s.aborted.add(t); err != nil {
				return err
			}
		}
		l.snapshots.since += size - pos
	}
	l.mu.Lock()
	l.producers = ps
	l.mu.Unlock()
	return nil
}
