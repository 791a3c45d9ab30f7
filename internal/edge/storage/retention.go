package storage

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// DeleteOld removes the oldest segments that retention no longer wants, of
// those wholly below the high watermark: first what lies below the log start,
// then what makes the log larger than retention.bytes, then what is older than
// retention.ms. The files are renamed and removed by Tick after
// file.delete.delay.ms. It tells how many bytes of log went.
func (l *Log) DeleteOld(highWatermark kafka.Offset) (int64, error) {
	l.sealed.Lock()
	defer l.sealed.Unlock()
	if err := (retention{l}).readTimes(); err != nil {
		return 0, l.refuse("retention", err)
	}
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usable(); err != nil {
		return 0, err
	}
	n, err := retention{l}.countOld(highWatermark)
	if err != nil || n == 0 {
		return 0, l.refuse("retention", err)
	}
	if n == len(l.segments) {
		if err := (appending{l}).roll(l.end); err != nil {
			return 0, l.refuse("retention", err)
		}
	}
	bytes, err := retention{l}.deleteFirst(n)
	return bytes, l.refuse("retention", err)
}

// retention is what the removal of old segments does to a log whose writer is
// held.
type retention struct{ *Log }

// readTimes finds the largest timestamps that retention will ask for, before
// appends have to wait for it.
func (l retention) readTimes() error {
	if err := l.usable(); err != nil || l.config().RetentionMs < 0 {
		return err
	}
	l.shape.RLock()
	defer l.shape.RUnlock()
	_, list := l.readable()
	for _, s := range list {
		if s.empty() {
			return nil // it stays, and may have no file whose time could be asked
		}
		if old, err := l.expired(s); err != nil || !old {
			return err
		}
	}
	return nil
}

// countOld is how many segments at the front are to go. The active one goes
// only when it holds something.
func (l retention) countOld(highWatermark kafka.Offset) (int, error) {
	cfg := l.config()
	excess := l.Size() - cfg.RetentionBytes
	for i, s := range l.segments {
		next := l.end
		if i+1 < len(l.segments) {
			next = l.segments[i+1].base
		} else if s.size == 0 {
			return i, nil
		}
		if next > highWatermark {
			return i, nil
		}
		old := next <= l.start
		if !old && cfg.CleanupDelete {
			tooLarge := cfg.RetentionBytes >= 0 && excess >= s.size
			tooOld, err := l.expired(s)
			if err != nil {
				return 0, err
			}
			old = tooLarge || tooOld
		}
		if !old {
			return i, nil
		}
		excess -= s.size
	}
	return len(l.segments), nil
}

func (l retention) expired(s *segment) (bool, error) {
	most := l.config().RetentionMs
	if most < 0 {
		return false, nil
	}
	largest, err := s.largestTime()
	return err == nil && l.nowMs()-largest > most, err
}

// deleteFirst takes the first n segments out of the log.
func (l retention) deleteFirst(n int) (bytes int64, err error) {
	gone := l.segments[:n]
	rest := slices.Clone(l.segments[n:])
	if err := l.raiseStart(rest[0].base); err != nil {
		return 0, err
	}
	l.shape.Lock()
	l.mu.Lock()
	l.segments = rest
	l.dirSaved = false
	l.mu.Unlock()
	for _, s := range gone {
		bytes += s.size
		if err = l.doom(s); err != nil {
			break
		}
	}
	l.shape.Unlock()
	l.size.Add(-bytes)
	for _, s := range gone {
		if err == nil && s.base != l.snapshots.at {
			err = l.snapshots.remove(s.base)
		}
	}
	return bytes, err
}

// doom renames a segment's files, to be removed after a delay.
func (l retention) doom(s *segment) error {
	l.stir()
	l.doomed = append(l.doomed, doomed{s, l.nowMs() + l.config().FileDeleteDelayMs})
	return s.rename(deletedSuffix)
}

// Rename moves the partition's folder, for a deletion or a move between
// directories, and makes that durable. Open files stay open.
func (l *Log) Rename(dir string) error {
	l.sealed.Lock()
	defer l.sealed.Unlock()
	l.writer.Lock()
	defer l.writer.Unlock()
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.shape.Lock()
	defer l.shape.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	return l.refuse("rename", l.folder.rename(dir))
}
