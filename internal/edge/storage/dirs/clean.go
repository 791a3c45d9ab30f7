package dirs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/storage"
)

// leastBackoff is the shortest pause between two looks for something to compact:
// with less, idle cleaners would do nothing but look.
const leastBackoff = 100 * time.Millisecond

// cleaning compacts the logs that want it.
type cleaning struct {
	*Dirs
	owner Owner
	pace  pace

	choosing sync.Mutex            // one cleaner at a time looks for a log
	taken    map[*storage.Log]bool // those that a cleaner is at; guarded by choosing
}

func newCleaning(d *Dirs, owner Owner) *cleaning {
	return &cleaning{Dirs: d, owner: owner, taken: map[*storage.Log]bool{}}
}

// run has as many cleaners work as the settings say, until ctx ends.
func (d *cleaning) run(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	var ends []context.CancelFunc
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	for {
		settings, changed := d.live.now()
		for len(ends) < settings.Cleaners {
			one, end := context.WithCancel(ctx)
			ends = append(ends, end)
			working.Go(func() { d.cleaner(one) })
		}
		for len(ends) > max(settings.Cleaners, 0) {
			ends[len(ends)-1]()
			ends = ends[:len(ends)-1]
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// cleaner compacts one log after the other, the dirtiest first, and rests when
// none is dirty enough.
func (d *cleaning) cleaner(ctx context.Context) {
	for d.rest(ctx) {
		for ctx.Err() == nil && d.once(ctx) {
		}
	}
}

// rest waits for as long as the settings say, also where they change meanwhile;
// false when ctx has ended.
func (d *cleaning) rest(ctx context.Context) bool {
	began := time.Now()
	for {
		settings, changed := d.live.now()
		timer := time.NewTimer(time.Until(began.Add(max(settings.CleanEvery, leastBackoff))))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
			return true
		case <-changed:
			timer.Stop()
		}
	}
}

// candidate is a log that wants to be compacted.
type candidate struct {
	dir  *directory
	log  *storage.Log
	dirt storage.Dirt
}

// once compacts the dirtiest log of those that are dirty enough, and tells
// whether it got somewhere.
func (d *cleaning) once(ctx context.Context) bool {
	d.figures.lookedMs.Store(time.Now().UnixMilli())
	best, ok := d.choose()
	if !ok {
		return false
	}
	defer d.release(best.log)
	began, size := time.Now(), best.log.Size()
	settings, _ := d.live.now()
	c := storage.Compactor{
		KeyBytes: settings.KeyBytes / int64(max(settings.Cleaners, 1)),
		Pace: func(bytes int) error {
			return d.pace.wait(ctx, &d.live, bytes)
		},
	}
	to, err := c.Compact(best.log, best.dirt)
	tp := best.log.TP()
	if errors.Is(err, storage.ErrUncleanable) {
		d.choosing.Lock()
		defer d.choosing.Unlock()
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

// choose takes the dirtiest log that no other cleaner is at.
func (d *cleaning) choose() (candidate, bool) {
	d.choosing.Lock()
	defer d.choosing.Unlock()
	best, ok := d.dirtiest()
	if ok {
		d.taken[best.log] = true
	}
	return best, ok
}

func (d *cleaning) release(l *storage.Log) {
	d.choosing.Lock()
	defer d.choosing.Unlock()
	delete(d.taken, l)
}

// leave remembers a log that cannot be read: it stays as it is. choosing is held, as
// in all below.
func (d *cleaning) leave(c candidate, err error) {
	tp := c.log.TP()
	d.opt.Logger.Error("log cannot be compacted and is left as it is", "topic", tp.Topic, "partition", int32(tp.Partition), "error", err)
	c.dir.uncleanable[c.log] = true
	c.dir.unreadable.Set(len(c.dir.uncleanable))
}

func (d *cleaning) dirtiest() (best candidate, ok bool) {
	d.each(func(dir *directory) error {
		logs := d.compacted(dir)
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

// compacted gives the logs with cleanup.policy=compact that can be read and are not
// taken.
func (d *cleaning) compacted(dir *directory) []*storage.Log {
	var out []*storage.Log
	for _, l := range dir.all() {
		if l.Config().CleanupCompact && !dir.uncleanable[l] && !d.taken[l] {
			out = append(out, l)
		}
	}
	return out
}
