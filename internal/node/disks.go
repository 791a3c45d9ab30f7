package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// disks brings log directories back that were offline and work again.
type disks struct {
	broker *brokerRole
	log    *slog.Logger
	every  time.Duration     // how often they are tried
	told   map[string]string // why one cannot come back, by its path
}

func newDisks(b *brokerRole) *disks {
	return &disks{broker: b, log: b.part("disks"), every: b.cfg.Duration("ottla.disks.probe.interval.ms"), told: map[string]string{}}
}

func (d *disks) run(ctx context.Context) {
	if d.every <= 0 {
		return
	}
	tick := time.NewTicker(d.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.tryAll()
		}
	}
}

// tryAll tries the directories that may come back by themselves. Where a sync has
// failed, what was written is unknown, and only the operator can tell that the disk is
// to be trusted.
func (d *disks) tryAll() {
	for _, dir := range d.broker.dirs.Absent() {
		switch {
		case dir.SyncFailed:
			d.tell(dir.Path, "a sync of it has failed: see that the disk is sound, then start the node again")
		case dir.Idle:
			if err := d.bringBack(dir.Path, false); err != nil {
				d.tell(dir.Path, err.Error())
			} else {
				delete(d.told, dir.Path)
			}
		}
	}
}

// tell says why a directory stays offline, once.
func (d *disks) tell(path, why string) {
	if d.told[path] != why {
		d.told[path] = why
		d.log.Warn("log directory stays offline", "dir", path, "why", why)
	}
}

// bringBack puts a directory back into service: its records are validated, its
// replicas come back as what metadata says they are, which is not in sync, and the
// broker registers again with it.
func (d *disks) bringBack(path string, trusted bool) error {
	b := d.broker
	for _, dir := range b.dirs.Absent() {
		if dir.Path == path {
			if err := b.parts.MayReturn(dir.ID); err != nil {
				return err
			}
		}
	}
	r, err := b.dirs.Return(path)
	if err != nil {
		return err
	}
	b.refetch(b.parts.Offline()) // what is known of them is from before
	back, err := b.parts.Return(partitions.Back{ID: r.ID(), Logs: r.Logs(), Short: r.Short(), Trusted: trusted}, r.Admit)
	if err != nil {
		r.Abandon()
		return err
	}
	b.refetch(back)
	b.life.DirReturned(r.ID())
	if !b.dirs.Online(r.ID()) { // it has failed again, which may have been told too early
		b.parts.DirFailed(r.ID())
		b.life.DirFailed(r.ID())
	}
	return nil
}

// refetch has the fetcher look at replicas anew.
func (b *brokerRole) refetch(replicas []kafka.TopicIDPartition) {
	img := b.parts.Image()
	b.fetcher.Publish(image.Delta{Before: img, Partitions: replicas}, img)
}
