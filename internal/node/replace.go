package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/edge/storage/dirs"
)

// orderEvery is how often the node looks for an order about its disks.
const orderEvery = 500 * time.Millisecond

// agreed bounds the wait for the controller to record what an order needs.
const agreed = 30 * time.Second

// obey carries out an order and says so, step by step.
func (d *disks) obey(ctx context.Context, o dirs.Order) {
	d.log.Info("order about a log directory", "verb", o.Verb, "dir", o.Dir, "same_device", o.SameDevice, "accept_data_loss", o.AcceptLoss)
	answer := dirs.Answer{ID: o.ID}
	tell := func() {
		if err := dirs.AnswerOrder(d.broker.fs, d.broker.self.MetadataDir, answer); err != nil {
			d.log.Warn("an order cannot be answered", "err", err)
		}
	}
	err := d.carryOut(ctx, o, func(step string) {
		d.log.Info("order about a log directory: "+step, "dir", o.Dir)
		answer.Steps = append(answer.Steps, step)
		tell()
	})
	answer.Done = true
	if err != nil {
		d.log.Warn("order about a log directory refused", "dir", o.Dir, "err", err)
		answer.Error = err.Error()
	}
	tell()
}

func (d *disks) carryOut(ctx context.Context, o dirs.Order, step func(string)) error {
	absent, err := d.broker.dirs.Find(o.Dir)
	if err != nil {
		return err
	}
	switch o.Verb {
	case dirs.Replace:
		r := replacement{disks: d, order: o, absent: absent, step: step}
		return r.run(ctx)
	case dirs.Readmit:
		if err := d.bringBack(ctx, absent.Path, true); err != nil {
			return err
		}
		step("its records were validated and its replicas are back")
		return nil
	}
	return fmt.Errorf("%q is no order that this release knows", o.Verb)
}

// replacement is a new disk that takes the place of a directory that is offline. The
// order of its steps is what keeps data: the controller has given the replicas up,
// durably, before anything is formatted.
type replacement struct {
	*disks
	order  dirs.Order
	absent dirs.Absent
	step   func(string)
	lost   []partitions.Place // recorded in the old directory
}

func (r *replacement) run(ctx context.Context) error {
	b := r.broker
	if err := b.dirs.Replaceable(r.absent.Path, r.order.SameDevice); err != nil {
		return err
	}
	if err := r.count(); err != nil {
		return err
	}
	if err := r.giveUp(ctx); err != nil {
		return err
	}
	if err := r.unlessLast(); err != nil { // it may have become the last one meanwhile
		return err
	}
	back, err := b.dirs.Replace(r.absent.Path, r.order.SameDevice)
	if err != nil {
		return err
	}
	r.step(fmt.Sprintf("it is formatted as directory %s", back.ID()))
	again := partitions.Back{ID: back.ID(), Trusted: r.order.AcceptLoss}
	for _, at := range r.lost {
		again.Refill = append(again.Refill, at.ID)
	}
	if err := r.admit(ctx, back, again); err != nil {
		return err
	}
	err = r.await(ctx, func(img *image.Image) bool {
		return !registersLess(img, b.self.ID, b.life.Epoch(), []kafka.DirID{back.ID()})
	})
	if err != nil {
		return fmt.Errorf("the controller has not registered the directory yet; it is asked again and again: %w", err)
	}
	r.step(fmt.Sprintf("it is registered; %d replicas in it are filled by their leaders", len(r.lost)))
	return nil
}

// count finds what is recorded in the old directory, and refuses where this broker may
// have the last copy of it.
func (r *replacement) count() error {
	in, err := recordedIn(r.absent, r.broker.dirs.Absent(), r.broker.dirs.Known)
	if err != nil {
		return err
	}
	r.lost = r.broker.parts.OfflineIn(in)
	if err := r.unlessLast(); err != nil {
		return err
	}
	r.step(fmt.Sprintf("%d replicas are recorded in the directory", len(r.lost)))
	return nil
}

// recordedIn tells which recorded directories mean one that is offline. Where its id was
// never read, it is the one that no other directory has; that must not be ambiguous.
// What is recorded as unknown or lost lies there if nothing else is offline.
func recordedIn(absent dirs.Absent, all []dirs.Absent, known func(kafka.DirID) bool) (func(kafka.DirID) bool, error) {
	for _, other := range all {
		if absent.ID.IsZero() && other.ID.IsZero() && other.Path != absent.Path {
			return nil, fmt.Errorf("the ids of %s and of %s are both unknown, so that it cannot be told what lay in which: bring one of them back first", absent.Path, other.Path)
		}
	}
	return func(dir kafka.DirID) bool {
		switch {
		case dir.Reserved():
			return len(all) == 1
		case absent.ID.IsZero():
			return !known(dir)
		}
		return dir == absent.ID
	}, nil
}

func (r *replacement) unlessLast() error {
	last := partitions.LastOf(r.broker.parts.Image(), r.broker.self.ID, r.lost)
	if len(last) == 0 || r.order.AcceptLoss {
		return nil
	}
	return fmt.Errorf("this broker is the last one in sync of %d partitions in %s, and what they hold is nowhere else: %s; bring the disk back, or give them up with --accept-data-loss",
		len(last), r.absent.Path, names(last))
}

// names lists partitions, not more than a line takes.
func names(list []partitions.Place) string {
	const most = 20
	var text []string
	for i, at := range list {
		if i == most {
			text = append(text, fmt.Sprintf("and %d more", len(list)-most))
			break
		}
		text = append(text, fmt.Sprintf("%s-%d", at.Name.Topic, at.Name.Partition))
	}
	return strings.Join(text, ", ")
}

// giveUp has the controller record that the replicas are lost.
func (r *replacement) giveUp(ctx context.Context) error {
	for _, at := range r.lost {
		r.broker.life.Assign(at.ID, kafka.DirLost)
	}
	err := r.await(ctx, func(img *image.Image) bool { return partitions.GivenUp(img, r.broker.self.ID, r.lost) })
	if err != nil {
		return fmt.Errorf("nothing was formatted: the controller has not recorded that the replicas are lost: %w", err)
	}
	r.step("the controller has recorded that they are lost, and has them out of the ISRs")
	return nil
}

// await waits until an image is as it is wanted.
func (d *disks) await(ctx context.Context, wanted func(*image.Image) bool) error {
	late := time.NewTimer(agreed)
	defer late.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !wanted(d.broker.parts.Image()) {
		select {
		case <-ctx.Done():
			return errors.New("the node is stopping")
		case <-late.C:
			return fmt.Errorf("not within %v", agreed)
		case <-look.C:
		}
	}
	return nil
}
