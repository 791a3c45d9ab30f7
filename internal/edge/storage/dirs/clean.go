package dirs

import (
	"context"
	"errors"
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/storage"
)

// defaultKeyBytes is the memory for keys without log.cleaner.dedupe.buffer.size.
const defaultKeyBytes = 128 << 20

// cleaning compacts the logs that want it.
type cleaning struct {
	*Dirs
	owner Owner
}

// run compacts one log after the other, the dirtiest first, and rests when
// none is dirty enough.
func (d cleaning) run(ctx context.Context) {
	timer := time.NewTimer(d.opt.Every.Clean)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		for ctx.Err() == nil && d.once() {
		}
		timer.Reset(d.opt.Every.Clean)
	}
}

// candidate is a log that wants to be compacted.
type candidate struct {
	dir  *directory
	log  *storage.Log
	dirt storage.Dirt
}

// once compacts the dirtiest log of those that are dirty enough, and tells
// whether it got somewhere. It must not be called from two goroutines at once.
func (d cleaning) once() bool {
	d.figures.lookedMs.Store(time.Now().UnixMilli())
	best, ok := d.dirtiest()
	if !ok {
		return false
	}
	began, size := time.Now(), best.log.Size()
	c := storage.Compactor{KeyBytes: d.opt.KeyBytes}
	to, err := c.Compact(best.log, best.dirt)
	tp := best.log.TP()
	if errors.Is(err, storage.ErrUncleanable) {
		d.leave(best, err)
		return true
	}
	if err != nil || to <= best.dirt.From {
		return false // the directory failed, which was told, or the log changed meanwhile
	}
	if err := best.dir.cleaned(best.log, to); err != nil {
		d.failOrWait(best.dir, err)
		return false
	}
	d.figures.compacted(time.Since(began), size, best.log.Size())
	d.opt.Logger.Info("compacted a log", "topic", tp.Topic, "partition", int32(tp.Partition),
		"from", int64(best.dirt.From), "to", int64(to), "bytes_before", size, "bytes_after", best.log.Size(), "took", time.Since(began))
	return true
}

// leave remembers a log that cannot be read: it stays as it is.
func (d cleaning) leave(c candidate, err error) {
	tp := c.log.TP()
	d.opt.Logger.Error("log cannot be compacted and is left as it is", "topic", tp.Topic, "partition", int32(tp.Partition), "error", err)
	c.dir.uncleanable[c.log] = true
	c.dir.unreadable.Set(len(c.dir.uncleanable))
}

func (d cleaning) dirtiest() (best candidate, ok bool) {
	d.each(func(dir *directory) error {
		logs := dir.compacted()
		if len(logs) == 0 {
			return nil
		}
		// Only what a checkpoint calls synced is compacted: after a loss of power
		// recovery takes holes for losses above that point.
		for _, l := range logs {
			if err := l.SyncSealed(); failed(err) {
				return err
			}
		}
		if err := dir.checkpointRecovery(); err != nil {
			return err
		}
		for _, l := range logs {
			hw, known := d.owner.HighWatermark(l.TP())
			if !known {
				continue
			}
			dirt, err := l.Dirt(dir.checkpoints.cleanedTo(l.TP()), hw, dir.checkpoints.recoveryPoint(l.TP()))
			if errors.Is(err, kerr.CorruptMessage) {
				d.leave(candidate{dir, l, dirt}, err)
				continue
			}
			if failed(err) {
				return err
			}
			if dirt.Due(l.Config().MinCleanableDirtyRatio) && (!ok || dirt.Ratio() > best.dirt.Ratio()) {
				best, ok = candidate{dir, l, dirt}, true
			}
		}
		return nil
	})
	return best, ok
}

// compacted gives the logs with cleanup.policy=compact that can be read.
func (dir *directory) compacted() []*storage.Log {
	var out []*storage.Log
	for _, l := range dir.all() {
		if l.Config().CleanupCompact && !dir.uncleanable[l] {
			out = append(out, l)
		}
	}
	return out
}
