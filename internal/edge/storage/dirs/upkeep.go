package dirs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/edge/storage"
)

// upkeep is the periodic work on all logs.
type upkeep struct {
	*Dirs
	owner Owner
	moves uint64 // of high watermarks, when they were written last
}

// failed tells an error of the disk from that of a log which was deleted while
// its turn came.
func failed(err error) bool { return err != nil && !errors.Is(err, storage.ErrClosed) }

// task is one kind of periodic work.
type task struct {
	every time.Duration
	next  time.Time
	run   func()
}

// each is Dirs.each, but that it leaves a disk alone that hangs.
func (d *upkeep) each(do func(*directory) error) {
	d.Dirs.each(func(dir *directory) error { return dir.unlessItHangs(do) })
}

func (d *upkeep) run(ctx context.Context) {
	e, now := d.opt.Every, time.Now()
	tasks := []*task{
		{e.Tick, now.Add(e.Tick), d.tick},
		{e.HighWatermarks, now.Add(e.HighWatermarks), d.highWatermarks},
		{e.RecoveryPoints, now.Add(e.RecoveryPoints), d.recoveryPoints},
		{e.LogStarts, now.Add(e.LogStarts), d.logStarts},
		{e.Retention, now.Add(e.FirstRetention), d.retainAll},
		{e.Producers, now.Add(e.Producers), d.expireProducers},
	}
	tasks = slices.DeleteFunc(tasks, func(t *task) bool { return t.every <= 0 })
	for len(tasks) > 0 {
		first := slices.MinFunc(tasks, func(a, b *task) int { return a.next.Compare(b.next) })
		timer := time.NewTimer(time.Until(first.next))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			first.run()
			first.next = time.Now().Add(first.every)
		}
	}
}

// tick writes what idle logs have pending, syncs what flush.ms says, and
// removes folders and files whose delay has passed.
func (d *upkeep) tick() {
	d.each(func(dir *directory) error {
		var errs []error
		for _, l := range dir.stirred.take() {
			if err := l.Tick(); failed(err) {
				errs = append(errs, err) // it has asked again
			}
		}
		return errors.Join(append(errs, d.purge(dir))...)
	})
}

// expireProducers forgets producers that were not heard of for long.
func (d *upkeep) expireProducers() {
	live, _ := d.live.now()
	d.each(func(dir *directory) error {
		for _, l := range dir.all() {
			l.ExpireProducers(live.ProducerExpiry)
		}
		return nil
	})
}

func (d *upkeep) purge(dir *directory) error {
	now := d.opt.Now()
	var due []doomed
	dir.mu.Lock()
	dir.doomed = slices.DeleteFunc(dir.doomed, func(x doomed) bool {
		gone := !now.Before(x.at)
		if gone {
			due = append(due, x)
		}
		return gone
	})
	dir.mu.Unlock()
	var errs []error
	for _, x := range due {
		if x.log != nil {
			_ = x.log.Close(false) // nobody wants what it could not write
		}
		if err := d.fs.RemoveAll(x.path); err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", x.path, err))
			dir.mu.Lock()
			dir.doomed = append(dir.doomed, doomed{path: x.path, at: now})
			dir.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}

// highWatermarks writes replication-offset-checkpoint. The owner is asked before,
// as it may hold its own locks while a log of its writes a checkpoint.
func (d *upkeep) highWatermarks() {
	moves := d.owner.HighWatermarkMoves()
	if moves == d.moves {
		return
	}
	d.moves = moves
	d.each(func(dir *directory) error {
		known := map[*storage.Log]kafka.Offset{}
		for _, l := range dir.every() {
			if hw, ok := d.owner.HighWatermark(l.TP()); ok {
				known[l] = min(hw, l.End()) // a future replica may end below
			}
		}
		return dir.checkpoint(HighWatermarkFile, func(logs []*storage.Log) storage.Offsets {
			now := make(storage.Offsets, len(logs))
			for _, l := range logs {
				hw, ok := known[l]
				if !ok {
					// Not in service yet: what was said of it still holds.
					hw = dir.checkpoints.marks[l.TP()]
				}
				now[l.TP()] = hw
			}
			return now
		})
	})
}

// recoveryPoints writes recovery-point-offset-checkpoint.
func (d *upkeep) recoveryPoints() {
	d.each(func(dir *directory) error { return dir.sinceChange(&dir.recovered, dir.checkpointRecovery) })
}

// logStarts writes log-start-offset-checkpoint: the starts that lie
// above the first segment.
func (d *upkeep) logStarts() {
	d.each(func(dir *directory) error { return dir.sinceChange(&dir.started, dir.checkpointStarts) })
}

// sinceChange does something that looks at all logs, unless none has changed since
// it was done last; done remembers when that was.
func (dir *directory) sinceChange(done *uint64, do func() error) error {
	round, waiting := dir.stirred.round()
	if !waiting && round == *done {
		return nil
	}
	err := do()
	if err == nil && !waiting {
		*done = round
	}
	return err
}

// retainAll removes segments that retention no longer wants.
func (d *upkeep) retainAll() {
	d.each(func(dir *directory) error {
		for _, l := range dir.every() {
			if err := d.retain(l); failed(err) {
				return err
			}
		}
		return nil
	})
}

func (d *upkeep) retain(l *storage.Log) error {
	hw, ok := d.owner.HighWatermark(l.TP())
	if !ok {
		return nil
	}
	start := l.Start()
	bytes, err := l.DeleteOld(min(hw, l.End())) // a future replica may end below
	if err != nil || bytes == 0 {
		return err
	}
	d.opt.Logger.Info("deleted old segments", "topic", l.TP().Topic, "partition", int32(l.TP().Partition),
		"bytes", bytes, "start", int64(l.Start()))
	if l.Start() > start {
		d.owner.Trimmed(l.TP())
	}
	return nil
}

func (dir *directory) checkpointRecovery() error {
	return dir.checkpoint(RecoveryPointFile, func(logs []*storage.Log) storage.Offsets {
		now := make(storage.Offsets, len(logs))
		for _, l := range logs {
			now[l.TP()] = l.RecoveryPoint()
		}
		return now
	})
}

func (dir *directory) checkpointStarts() error {
	return dir.checkpoint(LogStartFile, func(logs []*storage.Log) storage.Offsets {
		now := storage.Offsets{}
		for _, l := range logs {
			if start := l.Start(); start > l.FirstSegment() {
				now[l.TP()] = start
			}
		}
		return now
	})
}
