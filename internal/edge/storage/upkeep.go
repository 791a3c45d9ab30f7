package storage

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/config"
)

// upkeep is the work on a log that nobody waits for, and its end.
type upkeep struct{ *Log }

// doomed is a segment whose files are renamed to .deleted.
type doomed struct {
	segment *segment
	atMs    int64 // when it may be removed
}

// stir lets it be known that there is something for Tick to do.
func (l *Log) stir() {
	if l.stirred.Load() || l.stirred.Swap(true) || l.onWork == nil {
		return
	}
	l.onWork(l)
}

// Tick does what is due from time to time: it writes pending index entries, and the
// epochs, of a log that has fallen idle, removes files whose delay has passed, and syncs
// segments that were rolled, or all when flush.ms says so. It needs to be called
// only for logs that asked for it by Options.OnWork, as most have nothing to do.
func (l *Log) Tick() error {
	l.stirred.Store(false)
	settled, err := upkeep{l}.tick()
	if err == nil {
		err = l.SyncSealed()
	}
	if err == nil {
		err = l.SyncDue()
	}
	if err != nil || !settled {
		l.stir()
	}
	return err
}

// tick tells whether nothing is left to be done later.
func (l upkeep) tick() (settled bool, err error) {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err = l.usable(); err == nil && l.active().indexPending() {
		if err = l.saveEpochs(); err == nil {
			err = l.active().flushIndexes()
		}
	}
	if err == nil {
		err = l.purge(false)
	}
	flush := l.firstDirtyMs > 0 && l.config().FlushMs < math.MaxInt64
	return len(l.doomed) == 0 && !flush, l.refuse("tick", err)
}

// ExpireProducers forgets the producers without an open transaction that were not
// heard of for so long (producer.id.expiration.ms), and attempts to begin a
// transaction that are as old. Nothing is forgotten after 0.
func (l *Log) ExpireProducers(after time.Duration) {
	if after <= 0 {
		return
	}
	l.writer.Lock()
	defer l.writer.Unlock()
	l.verifying.expire(l.nowMs(), after.Milliseconds())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.producers.expire(l.nowMs(), after.Milliseconds())
}

// SetConfig changes the topic's settings for what comes.
func (l *Log) SetConfig(c config.LogConfig) {
	l.settings.Store(l.files.share(c))
	l.stir() // flush.ms may be due by now
}

// purge removes files that were renamed to .deleted, those whose delay has
// passed or all.
func (l upkeep) purge(all bool) error {
	now := l.nowMs()
	var errs []error
	l.doomed = slices.DeleteFunc(l.doomed, func(d doomed) bool {
		if !all && now < d.atMs {
			return false
		}
		errs = append(errs, d.segment.remove())
		return true
	})
	return errors.Join(errs...)
}

// Close writes what is pending and, if asked to sync, makes all of it durable:
// then a clean shutdown may be claimed. A failed log is closed without.
func (l *Log) Close(sync bool) error {
	l.sealed.Lock()
	defer l.sealed.Unlock()
	l.writer.Lock()
	defer l.writer.Unlock()
	if l.closed.Load() {
		return nil
	}
	err := l.usable()
	if err == nil {
		err = l.refuse("close", upkeep{l}.finish(sync))
	}
	l.syncing.Lock() // a sync under way ends first
	defer l.syncing.Unlock()
	l.closed.Store(true)
	for _, s := range l.segments {
		for _, f := range s.files() {
			err = errors.Join(err, f.retire())
		}
	}
	return err
}

func (l upkeep) finish(sync bool) error {
	if l.blank() && !sync {
		return nil
	}
	if l.blank() {
		return l.folder.bear() // what is assigned here is found by the next start
	}
	if err := l.saveEpochs(); err != nil {
		return err
	}
	if err := l.active().finishIndexes(); err != nil {
		return err
	}
	if l.end > l.snapshots.at && l.end > 0 {
		if err := l.snapshots.write(l.end, &l.producers, l.segments); err != nil {
			return err
		}
	}
	if err := l.purge(true); err != nil {
		return err
	}
	if !sync {
		return nil
	}
	if _, err := flushing(l).sync(false); err != nil {
		return err
	}
	// Unlike after a crash nothing will be built again: the active segment's
	// indexes and the snapshot count too.
	if err := l.active().syncIndexes(); err != nil {
		return err
	}
	return l.snapshots.sync(&l.producers)
}

// CloseIdle closes the files of a log that nobody uses at present; they are
// opened again when needed.
func (l *Log) CloseIdle() error {
	l.mu.RLock()
	list := l.segments
	l.mu.RUnlock()
	var errs []error
	for _, s := range list {
		errs = append(errs, s.closeIdle())
	}
	return errors.Join(errs...)
}
