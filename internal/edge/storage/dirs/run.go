package dirs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

// Owner knows of the replicas what their logs do not.
type Owner interface {
	// HighWatermark is what to checkpoint for a replica; false when it has none.
	HighWatermark(tp kafka.TopicPartition) (kafka.Offset, bool)
	// Trimmed says that the start of a log has moved, by retention.
	Trimmed(tp kafka.TopicPartition)
}

// Intervals say how often the periodic work is done. Zero is never.
type Intervals struct {
	HighWatermarks time.Duration // replica.high.watermark.checkpoint.interval.ms
	RecoveryPoints time.Duration // log.flush.offset.checkpoint.interval.ms
	LogStarts      time.Duration // log.flush.start.offset.checkpoint.interval.ms
	Retention      time.Duration // log.retention.check.interval.ms
	Tick           time.Duration // pending index entries, flush.ms, removals
	Clean          time.Duration // log.cleaner.backoff.ms; 0 with log.cleaner.enable=false
	FirstRetention time.Duration // log.initial.task.delay.ms
}

// tickEvery bounds by how much flush.ms is passed.
const tickEvery = time.Second

// IntervalsOf reads a broker's configuration.
func IntervalsOf(c *config.Config) Intervals {
	i := Intervals{
		HighWatermarks: c.Duration("replica.high.watermark.checkpoint.interval.ms"),
		RecoveryPoints: c.Duration("log.flush.offset.checkpoint.interval.ms"),
		LogStarts:      c.Duration("log.flush.start.offset.checkpoint.interval.ms"),
		Retention:      c.Duration("log.retention.check.interval.ms"),
		FirstRetention: c.Duration("log.initial.task.delay.ms"),
		Tick:           tickEvery,
	}
	if c.Bool("log.cleaner.enable") {
		i.Clean = c.Duration("log.cleaner.backoff.ms")
	}
	return i
}

func millis(ms int64) time.Duration {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

// Run does the periodic work until ctx ends: one goroutine for all of it but
// compaction, which has its own, as it may take long.
func (d *Dirs) Run(ctx context.Context, owner Owner) {
	var running sync.WaitGroup
	running.Go(func() { d.housekeep(ctx, owner) })
	if d.opt.Every.Clean > 0 {
		running.Go(func() { d.cleanLoop(ctx, owner) })
	}
	running.Wait()
}

// task is one kind of periodic work.
type task struct {
	every time.Duration
	next  time.Time
	run   func()
}

func (d *Dirs) housekeep(ctx context.Context, owner Owner) {
	e, now := d.opt.Every, time.Now()
	tasks := []*task{
		{e.Tick, now.Add(e.Tick), d.Tick},
		{e.HighWatermarks, now.Add(e.HighWatermarks), func() { d.CheckpointHighWatermarks(owner) }},
		{e.RecoveryPoints, now.Add(e.RecoveryPoints), d.CheckpointRecoveryPoints},
		{e.LogStarts, now.Add(e.LogStarts), d.CheckpointLogStarts},
		{e.Retention, now.Add(e.FirstRetention), func() { d.Retain(owner) }},
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

// each does something with every directory that works; one where it fails goes
// offline.
func (d *Dirs) each(do func(*directory) error) {
	for _, dir := range d.list {
		if dir.offline() != nil {
			continue
		}
		if err := do(dir); err != nil {
			d.fail(dir, err)
		}
	}
}

// Tick writes what idle logs have pending, syncs what flush.ms says, and
// removes folders and files whose delay has passed.
func (d *Dirs) Tick() {
	d.each(func(dir *directory) error {
		for _, l := range dir.all() {
			if err := l.Tick(); err != nil {
				return err
			}
		}
		return d.purge(dir)
	})
}

func (d *Dirs) purge(dir *directory) error {
	now := d.opt.Now()
	var due []string
	dir.mu.Lock()
	dir.doomed = slices.DeleteFunc(dir.doomed, func(x doomed) bool {
		gone := !now.Before(x.at)
		if gone {
			due = append(due, x.path)
		}
		return gone
	})
	dir.mu.Unlock()
	for _, path := range due {
		if err := d.fs.RemoveAll(path); err != nil {
			return fmt.Errorf("remove %s: %w", path, err)
		}
	}
	return nil
}

// CheckpointHighWatermarks writes replication-offset-checkpoint.
func (d *Dirs) CheckpointHighWatermarks(owner Owner) {
	d.each(func(dir *directory) error {
		logs := dir.all()
		known := make(map[kafka.TopicPartition]kafka.Offset, len(logs))
		for _, l := range logs {
			if hw, ok := owner.HighWatermark(l.TP()); ok {
				known[l.TP()] = hw
			}
		}
		return dir.checkpoints.replace(HighWatermarkFile, func() storage.Offsets {
			for _, l := range logs {
				if _, ok := known[l.TP()]; !ok {
					// Not in service yet: what was said of it still holds.
					known[l.TP()] = dir.checkpoints.marks[l.TP()]
				}
			}
			return known
		})
	})
}

// CheckpointRecoveryPoints writes recovery-point-offset-checkpoint.
func (d *Dirs) CheckpointRecoveryPoints() {
	d.each(func(dir *directory) error { return dir.checkpointRecovery(dir.all()) })
}

func (dir *directory) checkpointRecovery(logs []*storage.Log) error {
	return dir.checkpoints.replace(RecoveryPointFile, func() storage.Offsets {
		now := make(storage.Offsets, len(logs))
		for _, l := range logs {
			now[l.TP()] = l.RecoveryPoint()
		}
		return now
	})
}

// CheckpointLogStarts writes log-start-offset-checkpoint: the starts that lie
// above the first segment.
func (d *Dirs) CheckpointLogStarts() {
	d.each(func(dir *directory) error { return dir.checkpointStarts(dir.all()) })
}

func (dir *directory) checkpointStarts(logs []*storage.Log) error {
	return dir.checkpoints.replace(LogStartFile, func() storage.Offsets {
		now := storage.Offsets{}
		for _, l := range logs {
			if start := l.Start(); start > l.FirstSegment() {
				now[l.TP()] = start
			}
		}
		return now
	})
}

// Retain removes segments that retention no longer wants.
func (d *Dirs) Retain(owner Owner) {
	d.each(func(dir *directory) error {
		for _, l := range dir.all() {
			if err := d.retain(l, owner); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *Dirs) retain(l *storage.Log, owner Owner) error {
	hw, ok := owner.HighWatermark(l.TP())
	if !ok {
		return nil
	}
	start := l.Start()
	bytes, err := l.DeleteOld(hw)
	if err != nil || bytes == 0 {
		return err
	}
	d.opt.Logger.Info("deleted old segments", "topic", l.TP().Topic, "partition", int32(l.TP().Partition),
		"bytes", bytes, "start", int64(l.Start()))
	if l.Start() > start {
		owner.Trimmed(l.TP())
	}
	return nil
}

// Close stops using the directories. With clean set every log is synced and
// closed, the checkpoints are written, and each directory in which all of that
// went well gets the marker of a clean shutdown under the broker epoch. Run must
// have ended, and nothing may be appended any more. The claim's locks are given
// up.
func (d *Dirs) Close(clean bool, epoch kafka.BrokerEpoch, owner Owner) {
	d.closing.Do(func() {
		if clean {
			d.CheckpointHighWatermarks(owner)
		}
		var closing sync.WaitGroup
		for _, dir := range d.list {
			closing.Go(func() { d.closeDirectory(dir, clean, epoch) })
		}
		closing.Wait()
		d.work.Wait()
		d.claimed.Close()
	})
}

// closers is how many logs of a directory are closed at the same time: disks
// take many syncs at once.
const closers = 16

func (d *Dirs) closeDirectory(dir *directory, clean bool, epoch kafka.BrokerEpoch) {
	logs := dir.all()
	err := errors.Join(dir.offline(), closeAll(logs, clean))
	if !clean || dir.offline() != nil {
		return
	}
	if err == nil {
		err = dir.checkpointRecovery(logs)
	}
	if err == nil {
		err = dir.checkpointStarts(logs)
	}
	if err == nil {
		err = vfs.WriteFileAtomic(d.fs, markerPath(dir.path), encodeMarker(epoch))
	}
	if err != nil {
		d.fail(dir, err)
	}
}

func closeAll(logs []*storage.Log, sync bool) error {
	return inParallel(closers, logs, func(l *storage.Log) error { return l.Close(sync) })
}
