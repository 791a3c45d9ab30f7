package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Sync makes everything durable that was appended before the call and gives the
// offset below which that is so. Appends go on meanwhile; what they add waits
// for the next Sync.
func (l *Log) Sync() (kafka.Offset, error) {
	if err := l.usable(); err != nil {
		return l.RecoveryPoint(), err
	}
	synced, err := flushing{l}.sync(false)
	return synced, l.refuse("sync", err)
}

// SyncSealed does so for the segments that are no longer appended to, as is due
// after a roll.
func (l *Log) SyncSealed() error {
	if err := l.usable(); err != nil {
		return err
	}
	l.mu.RLock()
	due := l.recovery < l.active().base
	l.mu.RUnlock()
	if !due {
		return nil
	}
	_, err := flushing{l}.sync(true)
	return l.refuse("sync", err)
}

// flushing is what a sync does to a log.
type flushing struct{ *Log }

// work is what one sync has to do.
type work struct {
	end         kafka.Offset
	segments    []*segment
	epochs, dir bool // whether the epoch file and the folder are to be synced
	born        bool // and the topic id and the folder's own entry
}

// sync may be called with and without writer held.
//
// Nothing durable may point at something that is not: the log files come first,
// then the epoch history and the folder, and only then does the recovery point
// rise. The active segment's indexes stay unsynced, because a loss of power
// makes recovery build them again; those of older segments are synced once.
func (l flushing) sync(sealed bool) (kafka.Offset, error) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.closed.Load() {
		return l.RecoveryPoint(), ErrClosed
	}
	w := l.plan(sealed)
	if l.metrics != nil && len(w.segments) > 0 {
		began := time.Now()
		defer func() { l.metrics.Flush.Saw(time.Since(began)) }()
	}
	if err := l.carryOut(w); err != nil {
		l.takeBack(w)
		return l.RecoveryPoint(), err
	}
	return l.synced(w), nil
}

func (l flushing) carryOut(w work) error {
	for _, s := range w.segments {
		err := syncFile(s.log)
		if err == nil && !l.isActive(s) {
			err = s.syncIndexes()
		}
		if err != nil {
			return err
		}
	}
	if w.epochs {
		if err := l.writeEpochs(true); err != nil {
			return err
		}
	}
	if w.born {
		if err := l.saveBirth(); err != nil {
			return err
		}
	}
	if w.dir {
		return l.fs.SyncDir(l.folder.path())
	}
	return nil
}

// takeBack leaves to the next sync what this one could not do for want of open
// files. After any other failure there is no next one.
func (l flushing) takeBack(w work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range w.segments {
		s.unsynced, s.indexUnsaved = true, true
	}
	l.dirSaved, l.bornSaved = l.dirSaved && !w.dir, l.bornSaved && !w.born
}

// saveBirth makes a new log's topic id and its folder's entry durable: without
// them its records would belong to nobody.
func (l flushing) saveBirth() error {
	if !l.topicID.IsZero() {
		f, err := l.fs.OpenFile(l.folder.join(PartitionMetadataFile), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		err = f.Sync()
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
	}
	return l.fs.SyncDir(filepath.Dir(l.folder.path()))
}

// plan takes over what is unsynced. Marks are taken off before the work is
// done: a byte that is written meanwhile sets them again.
func (l flushing) plan(sealed bool) work {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.folder.unborn() {
		return work{end: l.end} // nothing was written
	}
	w := work{end: l.end, epochs: !l.epochsSaved, dir: !l.dirSaved, born: !l.bornSaved}
	list := l.segments
	if sealed {
		w.end, list = l.active().base, list[:len(list)-1]
	}
	for i, s := range list {
		if s.unsynced || s.indexUnsaved && i < len(l.segments)-1 {
			w.segments = append(w.segments, s)
		}
		s.unsynced = false
	}
	l.dirSaved, l.bornSaved = true, true
	return w
}

func (l flushing) synced(w work) kafka.Offset {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.end > l.recovery {
		l.recovery = w.end
		l.stir() // a checkpoint is due
	}
	return l.recovery
}

func syncFile(f *file) error {
	opened, err := f.acquire()
	if errors.Is(err, fs.ErrClosed) {
		return nil // replaced or deleted meanwhile
	}
	if err != nil {
		return err
	}
	defer f.release()
	if err := opened.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", f.path(), err)
	}
	return nil
}

// SyncDue syncs when flush.ms has passed since the oldest unsynced append.
func (l *Log) SyncDue() error {
	l.writer.Lock()
	due := l.firstDirtyMs > 0 && l.nowMs()-l.firstDirtyMs >= l.config().FlushMs
	if due {
		l.firstDirtyMs = 0
	}
	l.writer.Unlock()
	if !due {
		return nil
	}
	_, err := l.Sync()
	return err
}

// saveEpochs writes the history of epochs if the file is behind.
//
// The file may be behind for as long as the first batch of each epoch that it lacks
// lies behind the last entry of the offset index in the file: a recovery reads from
// there on, and learns those epochs from the batches. So it comes before every
// flush of that index, and before a sync is done. A log that takes its first records,
// as thousands do when many topics are made or a broker fails, is spared the file until
// one of them.
func (l *Log) saveEpochs() error {
	l.mu.RLock()
	behind := l.epochsBehind
	l.mu.RUnlock()
	if !behind {
		return nil
	}
	return l.writeEpochs(false)
}

// writeEpochs writes the history of epochs. Without a sync it is there after a
// crash of the process; after a loss of power recovery learns the newer epochs
// from the batches above the recovery point.
func (l *Log) writeEpochs(sync bool) error {
	l.epochFile.Lock()
	defer l.epochFile.Unlock()
	if err := l.folder.bear(); err != nil {
		return err
	}
	l.mu.Lock()
	b := l.epochs.encode()
	l.epochsSaved, l.epochsBehind = sync, false
	l.mu.Unlock()
	write := vfs.ReplaceFile
	if sync {
		write = vfs.WriteFileAtomic
	}
	err := write(l.fs, l.folder.join(EpochFile), b)
	if err != nil {
		l.mu.Lock()
		l.epochsSaved, l.epochsBehind = false, true
		l.mu.Unlock()
	}
	return err
}

// BecomeLeader notes that a leader epoch begins at the log's end, or does
// nothing if the epoch is known already. The file follows later, see saveEpochs: an
// epoch without records is dropped by every start.
func (l *Log) BecomeLeader(epoch kafka.Epoch) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch > l.epochs.last() && l.epochs.assign(epoch, l.end) {
		l.epochsBehind, l.epochsSaved = true, false
	}
	return nil
}
