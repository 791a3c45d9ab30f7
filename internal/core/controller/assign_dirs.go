package controller

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
)

// DirAssignment says that a broker's replica is in a directory.
type DirAssignment struct {
	Partition kafka.TopicIDPartition
	Dir       kafka.DirID
}

// DirsToAssign is an AssignReplicasToDirs request (KIP-858).
type DirsToAssign struct {
	Broker      kafka.NodeID
	Epoch       kafka.BrokerEpoch
	Assignments []DirAssignment
}

// AssignReplicasToDirs records where a broker's replicas are. The reply holds
// one error, or nil, for each assignment. A replica that is in an offline
// directory also leaves the ISR.
func AssignReplicasToDirs(img *image.Image, soft *Soft, want DirsToAssign) Decision[[]error] {
	if !img.Level().HasDirectories() {
		return refusef[[]error](kerr.UnsupportedVersion, "%s %v has no directories, they come with %v",
			image.MetadataVersion, img.Level(), image.LevelDirectories)
	}
	if err := checkEpoch(img, want.Broker, want.Epoch); err != nil {
		return refuse[[]error](err)
	}
	b, _ := img.Broker(want.Broker)
	d := draftOn(img)
	replies := make([]error, len(want.Assignments))
	named := map[kafka.TopicIDPartition]bool{}
	var offline []DirAssignment
	for n, a := range want.Assignments {
		replies[n] = checkReplica(img, want.Broker, a.Partition)
		if replies[n] != nil {
			continue
		}
		// A partition named twice is rare: the second looks at the first.
		current := img
		if named[a.Partition] {
			current = d.image()
		}
		named[a.Partition] = true
		d.assign(current, soft, want.Broker, a)
		if !b.Online(a.Dir) {
			offline = append(offline, a)
		}
	}
	d.leaveOffline(soft, want.Broker, offline)
	return piecewise(d, replies)
}

func checkReplica(img *image.Image, broker kafka.NodeID, tp kafka.TopicIDPartition) error {
	t, ok := img.TopicByID(tp.Topic)
	if !ok {
		return kerr.UnknownTopicId
	}
	p, ok := t.Partitions.Get(tp.Partition)
	switch {
	case !ok:
		return kerr.UnknownTopicOrPartition
	case !p.HasReplica(broker):
		return kerr.NotLeaderOrFollower
	}
	return nil
}

func (d *draft) assign(img *image.Image, soft *Soft, broker kafka.NodeID, a DirAssignment) {
	t, p, _ := img.PartitionByID(a.Partition)
	c := changeOf(img, soft, image.Place{Topic: t, Partition: a.Partition.Partition}, p)
	c.dirs = map[kafka.NodeID]kafka.DirID{broker: a.Dir}
	d.change(c)
}

// leaveOffline takes the replicas whose directory turned out to be offline out
// of their ISRs, after their directories are known.
func (d *draft) leaveOffline(soft *Soft, broker kafka.NodeID, assignments []DirAssignment) {
	if len(assignments) == 0 {
		return
	}
	img := d.image()
	for _, a := range assignments {
		t, p, _ := img.PartitionByID(a.Partition)
		if dir, _ := p.DirOf(broker); dir != a.Dir || !p.InSync(broker) {
			continue
		}
		c := changeOf(img, soft, image.Place{Topic: t, Partition: a.Partition.Partition}, p)
		c.without(broker)
		d.change(c)
	}
}
