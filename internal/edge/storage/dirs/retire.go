package dirs

import (
	"maps"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/edge/storage"
)

// closeGrace is how long a stop waits for writes to a directory that has failed.
const closeGrace = 5 * time.Second

// retire ends the use of a directory that has failed: its files are closed, so that
// its disk can be unmounted, and its lock is given up after the last write has
// returned, which on a disk that hangs may be never.
func (d *Dirs) retire(dir *directory) {
	defer close(dir.retired)
	dir.births.Close()
	dir.mu.Lock()
	logs := slices.AppendSeq(slices.Collect(maps.Values(dir.logs)), maps.Values(dir.futures))
	dir.mu.Unlock()
	_ = inParallel(closers, logs, func(l *storage.Log) error { return l.Close(false) }) // it has failed already
	dir.closeDoomed()
	d.claimed.giveUp(d.claimed.at(dir.path))
}

// isRetired tells whether nothing of ours uses a failed directory any more.
func (dir *directory) isRetired() bool {
	select {
	case <-dir.retired:
		return true
	default:
		return false
	}
}

// awaitRetired waits for writes to failed directories, but not for ever. Where one
// does not return, the lock stays: another process that was given the directory would
// not expect that write.
func (d *Dirs) awaitRetired() {
	late := time.NewTimer(d.grace)
	defer late.Stop()
	for _, dir := range d.directories() {
		if dir.offline() == nil {
			continue
		}
		select {
		case <-dir.retired:
			continue
		default:
		}
		select {
		case <-dir.retired:
		case <-late.C:
			late.Reset(0)
			d.opt.Logger.Error("a write to a failed log directory does not end; it stays locked until the process ends", "dir", dir.path)
			d.claimed.keep(d.claimed.at(dir.path))
		}
	}
}
