package partitions_test

import (
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// backBed has a topic t with one partition and two records, in a directory that has
// failed since. Self leads it, and the other replicas are in sync.
func backBed(t *testing.T, replicas ...kafka.NodeID) (b *testbed.Bed, topic kafka.TopicID, dir kafka.DirID) {
	t.Helper()
	b = newBed(t).Start()
	topic, dir = b.AddTopic("t"), testbed.DirID(1)
	part := testbed.Partition(topic, 0, replicas...)
	part.Directories[0] = dir
	b.Apply(part)
	b.Publish()
	if _, err := b.Find("t", 0).Append(records(2), false); err != nil {
		t.Fatal(err)
	}
	b.Dirs.Failed = nil // the replicas hear of it here
	b.Dirs.Fail(dir)
	b.Manager.DirFailed(dir)
	return b, topic, dir
}

// removed is what the controller writes of a replica in a directory that failed.
func removed(topic kafka.TopicID, leader kafka.NodeID, isr ...int32) *metarec.PartitionChangeRecord {
	r := testbed.Elect(topic, 0, leader)
	r.Isr = isr
	return r
}

func TestAReplicaReturnsAsAFollowerOnceTheControllerHasMovedItsLeadership(t *testing.T) {
	b, topic, dir := backBed(t, testbed.Self, testbed.Other)
	back := partitions.Back{ID: dir, Logs: b.Dirs.Reload(dir)}
	if _, err := b.Manager.Return(back, func() { t.Error("admitted") }); err == nil || !strings.Contains(err.Error(), "t-0") {
		t.Errorf("it is still the leader: %v", err)
	}
	b.Apply(removed(topic, testbed.Other, int32(testbed.Other)))
	b.Publish()
	changed, err := b.Manager.Return(back, func() { b.Dirs.Heal(dir) })
	if err != nil || len(changed) != 1 {
		t.Fatal(changed, err)
	}
	if s := b.Find("t", 0).Status(); s.Role != replica.Following || s.Leader != testbed.Other || s.LogEnd != 2 || s.Dir != dir {
		t.Errorf("%+v", s)
	}
}

func TestTheLastReplicaInSyncReturnsUnlessItLacksRecords(t *testing.T) {
	b, topic, dir := backBed(t, testbed.Self)
	b.Apply(removed(topic, kafka.NoNode, int32(testbed.Self)))
	b.Publish()
	back := partitions.Back{ID: dir, Logs: b.Dirs.Reload(dir), Short: []kafka.TopicPartition{named("t")}}
	if _, err := b.Manager.Return(back, func() { t.Error("admitted") }); err == nil || !strings.Contains(err.Error(), "t-0") {
		t.Errorf("it may have the last copy: %v", err)
	}
	back.Trusted = true
	if _, err := b.Manager.Return(back, func() { b.Dirs.Heal(dir) }); err != nil {
		t.Fatal(err)
	}
	b.Apply(testbed.Elect(topic, 0, testbed.Self))
	b.Publish()
	if s := b.Find("t", 0).Status(); s.Role != replica.Leading || s.LogEnd != 2 {
		t.Errorf("%+v", s)
	}
	if _, err := b.Find("t", 0).Append(records(1), false); err != nil {
		t.Error(err)
	}
}

// An empty log in the place of one that is gone could be elected as if it had all
// records.
func TestAReplicaThatIsNotFoundIsMadeAnewUnlessItMayBeTheLast(t *testing.T) {
	f := func(leader kafka.NodeID, isr []int32, trusted, offline bool) {
		t.Helper()
		b, topic, dir := backBed(t, testbed.Self, testbed.Other)
		b.Apply(removed(topic, leader, isr...))
		b.Publish()
		b.Dirs.Reload(dir)
		if _, err := b.Manager.Return(partitions.Back{ID: dir, Trusted: trusted}, func() { b.Dirs.Heal(dir) }); err != nil {
			t.Fatal(err)
		}
		if s := b.Find("t", 0).Status(); s.Offline != offline {
			t.Errorf("%+v", s)
		}
	}
	ours := []int32{int32(testbed.Self)}
	f(testbed.Other, []int32{int32(testbed.Other)}, false, false)
	f(kafka.NoNode, ours, false, true)
	f(kafka.NoNode, []int32{}, false, true)
	f(kafka.NoNode, ours, true, false)
}

func TestALogOfATopicThatIsGoneIsSetAsideWhenItsDirectoryReturns(t *testing.T) {
	b, topic, dir := backBed(t, testbed.Self)
	b.Apply(&metarec.RemoveTopicRecord{TopicId: topic})
	b.Publish()
	logs := b.Dirs.Reload(dir)
	if _, err := b.Manager.Return(partitions.Back{ID: dir, Logs: logs}, func() { b.Dirs.Heal(dir) }); err != nil {
		t.Fatal(err)
	}
	if len(logs) != 1 || len(b.Dirs.Aside) != 1 || len(b.Dirs.Gone) != 0 {
		t.Errorf("found %v, set aside %v, deleted %v", logs, b.Dirs.Aside, b.Dirs.Gone)
	}
}
