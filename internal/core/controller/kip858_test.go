package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// The statements of KIP-858 (docs/kip-858.md) that the active controller holds.

// S1: a registration that names no online log directory is invalid, error 42.
func TestKIP858_S1(t *testing.T) {
	c := newCluster(t)
	f := func(code kerr.Code, dirs ...kafka.DirID) {
		t.Helper()
		want := registration(1, 0)
		want.Dirs = dirs
		d := RegisterBroker(c.img, c.soft, c.now, want)
		if kerr.Of(d.Err) != code || (code != kerr.None) != (len(d.Records) == 0) {
			t.Errorf("%v: %v and %d records, want %v", dirs, d.Err, len(d.Records), code)
		}
	}
	if kerr.InvalidRequest != 42 {
		t.Fatal("INVALID_REQUEST is not 42")
	}
	f(42)
	f(kerr.None, uid(11))
	f(kerr.None, uid(11), uid(12))
	do(c, RegisterBroker(c.img, c.soft, c.now, registration(1, 1)))
	f(42) // nor may it lose the last one by registering again
}

// S2: a broker that registers several directories stays fenced until the controller
// knows where each of its replicas is, and none is left at an unknown directory.
func TestKIP858_S2(t *testing.T) {
	f := func(dirCount int, replicas string, assigned []int, fenced bool) {
		t.Helper()
		c := newCluster(t)
		c.brokers(1, 3)
		do(c, RegisterBroker(c.img, c.soft, c.now, registration(2, dirCount)))
		c.topic("a", replicas)
		for _, n := range assigned {
			c.assign(2, n, 21+n%2)
		}
		c.now += kafka.Instant(time.Hour) // there is no limit to it
		if r := c.beat(2); r.Fenced != fenced || c.broker(2).Fenced != fenced {
			t.Errorf("%d directories, %q, %v assigned: %+v, want fenced %v", dirCount, replicas, assigned, r, fenced)
		}
	}
	f(2, "1,2 1,2 1,2", nil, true)
	f(2, "1,2 1,2 1,2", []int{0, 1}, true)
	f(2, "1,2 1,2 1,2", []int{0, 1, 2}, false)
	f(2, "1,3 1,2 1,2", []int{1, 2}, false) // others' replicas do not count
	f(2, "1,3 1,2 1,2", nil, true)
	f(1, "1,2 1,2", nil, false) // one directory leaves no question
}

// S6: the update assumes that all replicas are still in the old directory and
// writes no partition change record. What lies elsewhere is told by the broker,
// and that alone is written.
func TestKIP858_S6(t *testing.T) {
	const count = 1000
	c := newCluster(t)
	c.add(&metarec.RegisterControllerRecord{ControllerId: 9, Features: []metarec.RegisterControllerRecordControllerFeature{{Name: image.DirsFeature, MaxSupportedVersion: 1}}})
	c.brokers(2)
	c.fenced(1)
	c.add(&metarec.TopicRecord{Name: "a", TopicId: uid(500)})
	for n := range count {
		p := metarec.NewPartitionRecord()
		p.TopicId, p.PartitionId, p.Replicas, p.Isr = uid(500), int32(n), []int32{2, 1}, []int32{2}
		p.Leader, p.LeaderEpoch, p.PartitionEpoch = 2, 0, 0
		c.add(p)
	}
	several := registration(1, 3)
	several.Incarnation = uid(78)
	begin := c.img.NextOffset()
	d := RegisterBroker(c.img, c.soft, c.now, several)
	wrote(t, d.Records, "RegisterBroker")
	do(c, d)
	if got := c.img.NextOffset(); got != begin+1 {
		t.Errorf("%d records", got-begin)
	}
	moved := DirsToAssign{Broker: 1, Epoch: c.broker(1).Epoch, Assignments: []DirAssignment{{c.tp("a", 7), uid(12)}}}
	d2 := AssignReplicasToDirs(c.img, c.soft, moved)
	wrote(t, d2.Records, "PartitionChange")
	do(c, d2)
	unfence := Heartbeat(c.img, c.soft, c.now, Beat{Broker: 1, Epoch: c.broker(1).Epoch, MetadataOffset: c.img.NextOffset() - 1})
	wrote(t, unfence.Records, "BrokerRegistrationChange")
	do(c, unfence)
	for n := range count {
		want, epoch := uid(11), int32(0)
		if n == 7 {
			want, epoch = uid(12), 1
		}
		if p := c.partition("a", n); !slices.Equal(p.Dirs[1:], []kafka.DirID{want}) || p.Epoch != epoch {
			t.Fatalf("partition %d is in %v at epoch %d", n, p.Dirs, p.Epoch)
		}
	}
}
