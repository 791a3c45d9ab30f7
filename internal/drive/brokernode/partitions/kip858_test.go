package partitions_test

import (
	"path"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// The statements of KIP-858 (docs/kip-858.md) that the broker's replicas hold.

// inDir is a partition with one replica here, recorded in dir.
func inDir(topic kafka.TopicID, n int, dir kafka.DirID) *metarec.PartitionRecord {
	p := testbed.Partition(topic, n, testbed.Self)
	p.Directories = []kafka.DirID{dir}
	return p
}

func told(t *testing.T, b *testbed.Bed, topic kafka.TopicID, n int, want kafka.DirID) {
	t.Helper()
	got, ok := b.Assigned.Of(kafka.TopicIDPartition{Topic: topic, Partition: kafka.PartitionID(n)})
	if got != want || ok != (want != kafka.DirID{}) {
		t.Errorf("of partition %d it is told that it is in %v (%v), want %v", n, got, ok, want)
	}
}

// nowhere: nothing is to be told.
var nowhere kafka.DirID

// S2: the broker tells the controller where its replicas are, with
// AssignReplicasToDirs: of every one that metadata has at an unknown directory. One
// that it does not find, while a directory is offline that may hold it, is lost.
func TestKIP858_S2(t *testing.T) {
	mem := vfs.NewMem()
	b := testbed.New(t, mem, "/data", 2).Start()
	topic := b.Topic("t", 4)
	at := map[int]kafka.DirID{}
	for n := range 4 {
		at[n] = b.Find("t", n).Status().Dir
		told(t, b, topic, n, at[n])
	}
	b.Stop()
	again := b.Over(mem)
	again.Apply(inDirChange(topic, 0, kafka.DirMigrating), inDirChange(topic, 1, at[1]))
	again.Start()
	told(t, again, topic, 0, at[0])
	told(t, again, topic, 1, nowhere)
	told(t, again, topic, 2, at[2])
	again.Stop()

	lacking := again.Over(mem)
	gone := at[3]
	delete(lacking.Dirs.Root, gone) // its id could not be read
	lacking.Dirs.Fail(kafka.DirID{1})
	lacking.Start()
	for n := range 4 {
		switch {
		case at[n] == gone && n == 1: // metadata names it, so that it counts as offline
			told(t, lacking, topic, n, nowhere)
		case at[n] == gone:
			told(t, lacking, topic, n, kafka.DirLost)
		case n != 1:
			told(t, lacking, topic, n, at[n])
		}
		if s := lacking.Find("t", n).Status(); s.Offline != (at[n] == gone) {
			t.Errorf("partition %d: %+v", n, s)
		}
	}
}

// inDirChange records that the replica of a partition is in dir.
func inDirChange(topic kafka.TopicID, n int, dir kafka.DirID) *metarec.PartitionChangeRecord {
	r := metarec.NewPartitionChangeRecord()
	r.TopicId, r.PartitionId, r.Directories = topic, int32(n), []kafka.DirID{dir}
	return r
}

// S4: new directories are assumed to be empty. If one is not, the broker corrects
// the assignment, before it says that its replicas are in place.
func TestKIP858_S4(t *testing.T) {
	mem := vfs.NewMem()
	b := testbed.New(t, mem, "/data", 1)
	topic, old, added := b.AddTopic("t"), testbed.DirID(0), testbed.DirID(1)
	b.Apply(inDir(topic, 0, old), inDir(topic, 1, old))
	b.Start()
	if _, err := b.Find("t", 1).Append(records(5), false); err != nil {
		t.Fatal(err)
	}
	b.Stop()

	next := b.Over(mem)
	next.Dirs.Root[added] = "/data/added"
	if err := vfs.MkdirAllSync(mem, "/data/added", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := mem.Rename(path.Join(next.Dirs.Root[old], "t-1"), "/data/added/t-1"); err != nil { // by hand
		t.Fatal(err)
	}
	next.Start()
	told(t, next, topic, 0, nowhere)
	told(t, next, topic, 1, added)
	if s := next.Find("t", 1).Status(); s.Dir != added || s.LogEnd != 5 {
		t.Errorf("%+v", s)
	}
	next.Apply(inDirChange(topic, 1, added))
	next.Publish()
	told(t, next, topic, 1, nowhere) // metadata knows by now
}

// S5: "a broker with exactly one directory does not assign its MIGRATING replicas":
// where they are is known when it becomes one of several. Any other mismatch it
// tells.
func TestKIP858_S5(t *testing.T) {
	f := func(dirs int, believed, want kafka.DirID) {
		t.Helper()
		b := testbed.New(t, vfs.NewMem(), "/data", dirs)
		topic := b.AddTopic("t")
		b.Apply(inDir(topic, 0, believed))
		b.Start()
		told(t, b, topic, 0, want)
	}
	one := testbed.DirID(0)
	f(1, kafka.DirMigrating, nowhere)
	f(1, kafka.DirUnassigned, one)
	f(1, kafka.DirLost, one)
	f(1, one, nowhere)
	f(2, kafka.DirMigrating, one)
}
