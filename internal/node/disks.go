package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/edge/storage/dirs"
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

// run tries what is offline, and carries out orders, until ctx ends.
func (d *disks) run(ctx context.Context) {
	_, _, _ = dirs.TakeOrder(d.broker.fs, d.broker.self.MetadataDir) // it is from before the start
	orders := time.NewTicker(orderEvery)
	defer orders.Stop()
	var tries <-chan time.Time // never
	if d.every > 0 {
		tick := time.NewTicker(d.every)
		defer tick.Stop()
		tries = tick.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tries:
			d.tryAll(ctx)
		case <-orders.C:
			o, there, err := dirs.TakeOrder(d.broker.fs, d.broker.self.MetadataDir)
			if err != nil {
				d.tell(d.broker.self.MetadataDir, err.Error())
			}
			if there {
				d.obey(ctx, o)
			}
		}
	}
}

// tryAll tries the directories that may come back by themselves. Where a sync has
// failed, what was written is unknown, and only the operator can tell that the disk is
// to be trusted.
func (d *disks) tryAll(ctx context.Context) {
	for _, dir := range d.broker.dirs.Absent() {
		switch {
		case dir.SyncFailed:
			d.tell(dir.Path, "a sync of it has failed: see that the disk is sound, then run `ottla disks readmit`, or replace it")
		case dir.Idle:
			if err := d.bringBack(ctx, dir.Path, false); err != nil {
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
func (d *disks) bringBack(ctx context.Context, path string, trusted bool) error {
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
	return d.admit(ctx, r, partitions.Back{ID: r.ID(), Logs: r.Logs(), Short: r.Short(), Trusted: trusted})
}

// admit puts a directory that was opened into service, or closes it again.
func (d *disks) admit(ctx context.Context, r *dirs.Returning, wanted partitions.Back) error {
	b := d.broker
	b.refetch(b.parts.Offline()) // what is known of them is from before
	back, err := b.parts.Return(wanted, r.Admit)
	if err != nil {
		r.Abandon()
		return err
	}
	b.refetch(back)
	// A registration that gains a directory has what waits for a replica in it led
	// again, so the controller is to know first what lies there.
	if err := d.await(ctx, func(img *image.Image) bool { return b.parts.Recorded(img, back) }); err != nil {
		d.log.Warn("the controller has not recorded yet what lies in a directory", "dir", r.ID(), "err", err)
	}
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
