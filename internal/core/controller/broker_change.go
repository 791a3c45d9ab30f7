package controller

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// leave takes a broker out of every ISR it is in and moves its leaderships, as
// when it is fenced or shuts down.
func (d *draft) leave(soft *Soft, broker kafka.NodeID) {
	img := d.image()
	if img.Hosted(broker).InSync == 0 {
		return
	}
	for at, p := range img.Partitions() {
		if p.InSync(broker) {
			c := changeOf(img, soft, at, p)
			c.without(broker)
			d.change(c)
		}
	}
}

// leaveUnclean takes a broker that lost its disk cache out of ISR and ELR
// (KIP-966).
func (d *draft) leaveUnclean(soft *Soft, broker kafka.NodeID) {
	img := d.image()
	if h := img.Hosted(broker); h.InSync == 0 && h.Eligible == 0 {
		return
	}
	for at, p := range img.Partitions() {
		if p.InSync(broker) || slices.Contains(p.ELR, broker) {
			c := changeOf(img, soft, at, p)
			c.without(broker)
			c.lost = []kafka.NodeID{broker}
			d.change(c)
		}
	}
}

// leaveDir takes the broker's replicas in one directory out of their ISRs.
func (d *draft) leaveDir(soft *Soft, broker kafka.NodeID, dir kafka.DirID) {
	img := d.image()
	if img.Hosted(broker).InSync == 0 {
		return
	}
	for at, p := range img.Partitions() {
		if in, ok := p.DirOf(broker); ok && in == dir && p.InSync(broker) {
			c := changeOf(img, soft, at, p)
			c.without(broker)
			d.change(c)
		}
	}
}

// fence writes that a broker may not lead any more.
func (d *draft) fence(soft *Soft, b *image.Broker) {
	d.leave(soft, b.ID)
	r := registrationChange(b)
	r.Fenced = 1
	d.add(r)
}

// unfence writes that a broker may lead again, and gives it the partitions
// that waited for it.
func (d *draft) unfence(soft *Soft, b *image.Broker) {
	r := registrationChange(b)
	r.Fenced = -1
	d.add(r)
	img := d.image()
	if img.Hosted(b.ID).Leaderless == 0 {
		return
	}
	for at, p := range img.Partitions() {
		if p.Leader == kafka.NoNode && p.HasReplica(b.ID) {
			d.change(changeOf(img, soft, at, p))
		}
	}
}

// shutDown writes that a broker began its controlled shutdown.
func (d *draft) shutDown(soft *Soft, b *image.Broker) {
	if !b.ShuttingDown {
		r := registrationChange(b)
		r.InControlledShutdown = 1
		d.addAt(r, 1)
	}
	d.leave(soft, b.ID)
}

// loseDirs writes that some of a broker's directories went offline, and gives
// the partitions in them other leaders.
func (d *draft) loseDirs(soft *Soft, b *image.Broker, offline []kafka.DirID) {
	lost := slices.DeleteFunc(slices.Clone(b.Dirs), func(dir kafka.DirID) bool { return !slices.Contains(offline, dir) })
	if len(lost) == 0 {
		return
	}
	for _, dir := range lost {
		d.leaveDir(soft, b.ID, dir)
	}
	r := registrationChange(b)
	r.LogDirs = slices.DeleteFunc(slices.Clone(b.Dirs), func(dir kafka.DirID) bool { return slices.Contains(lost, dir) })
	// Without any directory left the list is empty, which a record cannot say;
	// such a broker halts by itself.
	if len(r.LogDirs) > 0 {
		d.addAt(r, 2)
	}
}

// regainDirs gives the broker the partitions that waited for a replica in a directory
// which its amended registration names and the old one did not.
func (d *draft) regainDirs(soft *Soft, old *image.Broker) {
	img := d.image()
	b, ok := img.Broker(old.ID)
	if !ok || img.Hosted(old.ID).Leaderless == 0 {
		return
	}
	for at, p := range img.Partitions() {
		dir, has := p.DirOf(old.ID)
		if has && p.Leader == kafka.NoNode && b.Online(dir) && !old.Online(dir) {
			d.change(changeOf(img, soft, at, p))
		}
	}
}

// cordon writes which directories take no new replicas (KIP-1066).
func (d *draft) cordon(b *image.Broker, cordoned []kafka.DirID) {
	if b.Cordoned != nil && sameSet(b.Cordoned, cordoned) {
		return
	}
	r := registrationChange(b)
	r.CordonedLogDirs = append([]kafka.DirID{}, cordoned...)
	d.addAt(r, 3)
}

func sameSet(a, b []kafka.DirID) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(d kafka.DirID) bool { return !slices.Contains(b, d) })
}

func registrationChange(b *image.Broker) *metarec.BrokerRegistrationChangeRecord {
	r := metarec.NewBrokerRegistrationChangeRecord()
	r.BrokerId, r.BrokerEpoch = int32(b.ID), int64(b.Epoch)
	return r
}
