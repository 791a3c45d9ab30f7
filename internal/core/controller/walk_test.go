package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"pgregory.net/rapid"
)

// TestWhateverHappensPartitionsStaySound lets brokers come, go, lose disks and
// topics change in any order, and looks at every partition after each step.
func TestWhateverHappensPartitionsStaySound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newCluster(t)
		if rapid.Bool().Draw(rt, "elr") {
			c.elr()
		}
		c.brokers(1, 2, 3)
		c.topic("seed", "1,2,3 2,3,1", minInsyncKey+"=2")
		for step := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			what := walk(rt, c, step)
			for at, p := range c.img.Partitions() {
				if err := sound(c.img, p); err != nil {
					rt.Fatalf("after %s: %s-%d: %v: %+v", what, at.Topic.Name, at.Partition, err, p)
				}
			}
		}
	})
}

func walk(rt *rapid.T, c *cluster, step int) string {
	n := rapid.IntRange(1, 4).Draw(rt, "broker")
	_, registered := c.img.Broker(kafka.NodeID(n))
	kind := rapid.IntRange(0, 8).Draw(rt, "kind")
	switch {
	case kind == 0 || !registered:
		r := registration(n, rapid.IntRange(1, 3).Draw(rt, "dirs"))
		r.Incarnation = uid(1000 + step)
		c.now += kafka.Instant(10 * time.Second)
		do(c, RegisterBroker(c.img, c.soft, c.now, r))
		return "registration"
	case kind <= 3:
		c.beat(n, func(b *Beat) {
			b.WantFence = rapid.IntRange(0, 3).Draw(rt, "fence") == 0
			b.WantShutDown = rapid.IntRange(0, 5).Draw(rt, "leave") == 0
			if rapid.IntRange(0, 4).Draw(rt, "lose") == 0 {
				b.OfflineDirs = dirs(n*10 + 1)
			}
		})
		return "heartbeat"
	case kind == 4:
		c.now += kafka.Instant(9 * time.Second)
		do(c, Expire(c.img, c.soft, c.now))
		return "expiry"
	case kind == 5:
		want := auto(fmt.Sprint("t", step), int32(rapid.IntRange(1, 3).Draw(rt, "n")), int16(rapid.IntRange(1, 3).Draw(rt, "r")))
		do(c, CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{want}}))
		return "creation"
	case kind == 6:
		var all []DirAssignment
		for at, p := range c.img.Partitions() {
			if p.HasReplica(kafka.NodeID(n)) {
				all = append(all, DirAssignment{at.ID(), uid(n*10 + rapid.IntRange(1, 3).Draw(rt, "dir"))})
			}
		}
		do(c, AssignReplicasToDirs(c.img, c.soft, DirsToAssign{kafka.NodeID(n), c.broker(n).Epoch, all}))
		return "assignment"
	case kind == 7:
		joinAll(c, n)
		return "alter partition"
	}
	to := rapid.SliceOfNDistinct(rapid.IntRange(1, 4), 1, 3, rapid.ID).Draw(rt, "to")
	want := Reassignment{Partition: kafka.TopicPartition{Topic: "seed"}}
	for _, id := range to {
		want.Replicas = append(want.Replicas, kafka.NodeID(id))
	}
	if rapid.IntRange(0, 3).Draw(rt, "cancel") == 0 {
		want.Replicas = nil
	}
	do(c, AlterReassignments(c.img, c.soft, ReassignmentsToAlter{Partitions: []Reassignment{want}}))
	return "reassignment"
}

// joinAll has a leader ask for all active replicas of its partitions.
func joinAll(c *cluster, leader int) {
	req := ISRsToAlter{Broker: kafka.NodeID(leader), Epoch: c.broker(leader).Epoch}
	for at, p := range c.img.Partitions() {
		if p.Leader != req.Broker {
			continue
		}
		wish := NewISR{Partition: at.ID(), LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.Epoch}
		for _, id := range p.Replicas {
			if c.img.Active(id) {
				wish.ISR = append(wish.ISR, Member{id, kafka.NoBrokerEpoch})
			}
		}
		req.Partitions = append(req.Partitions, wish)
	}
	do(c, AlterPartition(c.img, c.soft, req))
}

// sound tells what is wrong with a partition.
func sound(img *image.Image, p *image.Partition) error {
	if len(p.Dirs) != len(p.Replicas) || len(p.Replicas) == 0 {
		return fmt.Errorf("%d directories for %d replicas", len(p.Dirs), len(p.Replicas))
	}
	for _, list := range [][]kafka.NodeID{p.ISR, p.ELR, p.Adding, p.Removing} {
		if !containsAll(p.Replicas, list) {
			return fmt.Errorf("%v are not all replicas", list)
		}
	}
	for i, id := range p.ISR {
		if slices.Contains(p.ISR[:i], id) || slices.Contains(p.ELR, id) {
			return fmt.Errorf("broker %d is in sync twice, or also in the ELR", id)
		}
	}
	switch {
	case p.Leader == kafka.NoNode:
	case !p.InSync(p.Leader):
		return fmt.Errorf("leader %d is not in sync", p.Leader)
	case !canLead(img, p, p.Leader):
		return fmt.Errorf("leader %d cannot lead", p.Leader)
	}
	if len(p.ISR) == 0 && !img.ElrEnabled() {
		return fmt.Errorf("the ISR is empty without an ELR")
	}
	return nil
}
