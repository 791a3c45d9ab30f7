package dirs

import (
	"context"
	"errors"
	"math"
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
	// HighWatermarkMoves counts how often any of them has moved.
	HighWatermarkMoves() uint64
	// Trimmed says that the start of a log has moved, by retention.
	Trimmed(tp kafka.TopicPartition)
}

// Intervals say how often the periodic work is done. Zero is never.
type Intervals struct {
	HighWatermarks time.Duration // replica.high.watermark.checkpoint.interval.ms
	RecoveryPoints time.Duration // log.flush.offset.checkpoint.interval.ms
	LogStarts      time.Duration // log.flush.start.offset.checkpoint.interval.ms
	Retention      time.Duration // log.retention.check.interval.ms
	Producers      time.Duration // expiry of producers
	Tick           time.Duration // pending index entries, flush.ms, removals
	FirstRetention time.Duration // log.initial.task.delay.ms
}

// tickEvery bounds by how much flush.ms is passed.
const tickEvery = time.Second

// producersEvery is how often expired producers are looked for, as in Kafka
// (producer.id.expiration.check.interval.ms).
const producersEvery = 10 * time.Minute

// IntervalsOf reads a broker's configuration.
func IntervalsOf(c *config.Config) Intervals {
	return Intervals{
		HighWatermarks: c.Duration("replica.high.watermark.checkpoint.interval.ms"),
		RecoveryPoints: c.Duration("log.flush.offset.checkpoint.interval.ms"),
		LogStarts:      c.Duration("log.flush.start.offset.checkpoint.interval.ms"),
		Retention:      c.Duration("log.retention.check.interval.ms"),
		FirstRetention: c.Duration("log.initial.task.delay.ms"),
		Tick:           tickEvery,
		Producers:      producersEvery,
	}
}

func millis(ms int64) time.Duration {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

// Run does the periodic work until ctx ends: one goroutine for all of it but
// compaction, which has others, as it may take long.
func (d *Dirs) Run(ctx context.Context, owner Owner) {
	var running sync.WaitGroup
	for i := range d.directories() {
		go d.watchSpace(ctx, i)
	}
	running.Go(func() { (&upkeep{Dirs: d, owner: owner}).run(ctx) })
	if d.opt.Compact {
		running.Go(func() { newCleaning(d, owner).run(ctx) })
	}
	go d.watch(d.watched)
	<-ctx.Done()
	d.waitUnlessHung("the work on logs", running.Wait)
}

// waitUnlessHung waits for something to end. Where a directory has failed in which a
// write does not return, it does so for a while only.
func (d *Dirs) waitUnlessHung(what string, wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	look := time.NewTicker(d.grace)
	defer look.Stop()
	for {
		select {
		case <-done:
			return
		case <-look.C:
		}
		for _, a := range d.Absent() {
			if !a.Idle {
				d.opt.Logger.Warn("not waited for: "+what, "dir", a.Path, "error", a.Err)
				return
			}
		}
	}
}

// each does something with every directory that works; one where it fails goes
// offline.
func (d *Dirs) each(do func(*directory) error) {
	for _, dir := range d.directories() {
		if dir.offline() != nil {
			continue
		}
		if err := do(dir); err != nil {
			d.failOrWait(dir, err)
		}
	}
}

// Close stops using the directories. With clean set every log is synced and
// closed, the checkpoints are written, and each directory in which all of that
// went well gets the marker of a clean shutdown under the broker epoch. Run must
// have ended, and nothing may be appended any more. The claim's locks are given
// up.
func (d *Dirs) Close(clean bool, epoch kafka.BrokerEpoch, owner Owner) {
	d.closing.Do(func() {
		if clean {
			(&upkeep{Dirs: d, owner: owner, moves: math.MaxUint64}).highWatermarks()
		}
		var closing sync.WaitGroup
		for _, dir := range d.directories() {
			dir.births.Close()
			closing.Go(func() {
				_ = dir.unlessItHangs(func(dir *directory) error {
					d.closeDirectory(dir, clean, epoch)
					return nil
				})
			})
		}
		closing.Wait()
		close(d.watched)
		d.awaitRetired()
		d.waitUnlessHung("what was begun with logs", d.work.Wait)
		d.claimed.Close()
	})
}

// closers is how many logs of a directory are closed at the same time, unless
// num.recovery.threads.per.data.dir says more: disks take many syncs at once.
const closers = 16

func (d *Dirs) closeDirectory(dir *directory, clean bool, epoch kafka.BrokerEpoch) {
	live, _ := d.live.now()
	dir.closeDoomed()
	err := errors.Join(dir.offline(), closeAll(dir.every(), clean, max(closers, live.Threads)))
	if !clean || dir.offline() != nil {
		return
	}
	if err == nil {
		err = dir.checkpointRecovery()
	}
	if err == nil {
		err = dir.checkpointStarts()
	}
	if dir.offline() != nil {
		return // it did not answer for too long
	}
	if err == nil {
		err = d.markClean(dir, epoch)
	}
	if err != nil {
		d.failOrWait(dir, err) // either way there is no marker
	}
}

// markClean puts the clean marker in the place of the boot note. If another
// program uses the directory next, no note is left that would speak of our logs.
func (d *Dirs) markClean(dir *directory, epoch kafka.BrokerEpoch) error {
	if err := storage.ForgetBoot(d.fs, dir.path); err != nil {
		return err
	}
	return vfs.WriteFileAtomic(d.fs, markerPath(dir.path), encodeMarker(epoch))
}

func closeAll(logs []*storage.Log, sync bool, atOnce int) error {
	return inParallel(atOnce, logs, func(l *storage.Log) error { return l.Close(sync) })
}
