package partitions_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/pmap"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
	"github.com/ottla/ottla/internal/edge/storage"
)

func named(topic string) kafka.TopicPartition { return kafka.TopicPartition{Topic: topic} }

// Metadata leaves the directory to the broker, which spreads its replicas and
// reports where each lies (KIP-858).
func TestReplicasAreSpreadAndReported(t *testing.T) {
	b := newBed(t).Start()
	id := b.Topic("t", 4)
	count := map[kafka.DirID]int{}
	for n := range 4 {
		dir := b.Find("t", n).Status().Dir
		count[dir]++
		if got, ok := b.Assigned.Of(kafka.TopicIDPartition{Topic: id, Partition: kafka.PartitionID(n)}); !ok || got != dir {
			t.Errorf("partition %d lies in %s and %s was reported", n, dir, got)
		}
	}
	if count[testbed.DirID(0)] != 2 || count[testbed.DirID(1)] != 2 {
		t.Errorf("%v", count)
	}
}

func TestTheNamedDirectoryIsTaken(t *testing.T) {
	b := newBed(t).Start()
	id := b.AddTopic("t")
	part := testbed.Partition(id, 0, testbed.Self)
	part.Directories = []kafka.UUID{testbed.DirID(1)}
	b.Apply(part)
	b.Publish()
	if dir := b.Find("t", 0).Status().Dir; dir != testbed.DirID(1) {
		t.Errorf("it lies in %s", dir)
	}
	if _, told := b.Assigned.Of(kafka.TopicIDPartition{Topic: id}); told {
		t.Error("what metadata knows was reported")
	}
}

// A replica that metadata says we had before may lie on a disk that does not
// work; an empty one must not take its place. A new replica may be made.
func TestNoEmptyReplicaWhileADirectoryIsOffline(t *testing.T) {
	b := newBed(t)
	b.Dirs.Fail(testbed.DirID(1))
	b.Topic("old", 1)
	b.Start()
	if s := b.Find("old", 0).Status(); !s.Offline {
		t.Errorf("%+v", s)
	}
	if _, err := b.Find("old", 0).Append(records(1), false); kerr.Of(err) != kerr.KafkaStorageError {
		t.Error(err)
	}
	b.Topic("new", 1)
	if _, err := b.Find("new", 0).Append(records(1), false); err != nil {
		t.Error(err)
	}
}

// A directory that fails after its logs were found, and before the replicas
// that they belong to exist, takes those along all the same.
func TestAReplicaIsNotMadeOfAFailedDirectory(t *testing.T) {
	b := newBed(t).Start()
	b.Topic("t", 1)
	dir := b.Find("t", 0).Status().Dir
	b.Stop()
	next := b.Over(b.Dirs.FS)
	next.Dirs.Fail(dir)
	if s := next.Start().Find("t", 0).Status(); !s.Offline {
		t.Errorf("%+v", s)
	}
}

func TestDeletedTopicsAndMovedReplicasGo(t *testing.T) {
	b := newBed(t).Start()
	gone, moved := b.Topic("gone", 1), b.Topic("moved", 1)
	held := b.Find("gone", 0)
	b.Apply(&metarec.RemoveTopicRecord{TopicId: gone}, reassign(moved, testbed.Other))
	b.Publish()
	if _, err := b.Manager.Named(named("gone")); kerr.Of(err) != kerr.UnknownTopicOrPartition {
		t.Errorf("gone by name: %v", err)
	}
	if _, err := b.Manager.ByID(kafka.TopicIDPartition{Topic: gone}); kerr.Of(err) != kerr.UnknownTopicId {
		t.Errorf("gone by id: %v", err)
	}
	if _, err := held.Append(records(1), false); kerr.Of(err) != kerr.NotLeaderOrFollower {
		t.Errorf("who still holds it: %v", err)
	}
	for _, id := range []kafka.TopicID{gone, moved} {
		if dir, queued := b.Assigned.Of(kafka.TopicIDPartition{Topic: id}); queued {
			t.Errorf("that %s lies in %s is still to be told", id, dir)
		}
	}
	// A broker that is no replica of a partition that exists says so (KAFKA-6796).
	if _, err := b.Manager.Named(named("moved")); kerr.Of(err) != kerr.NotLeaderOrFollower {
		t.Errorf("moved: %v", err)
	}
	slices.SortFunc(b.Dirs.Gone, func(a, b kafka.TopicPartition) int { return len(a.Topic) - len(b.Topic) })
	if fmt.Sprint(b.Dirs.Gone) != "[{gone 0} {moved 0}]" {
		t.Errorf("deleted %v", b.Dirs.Gone)
	}
}

func reassign(topic kafka.TopicID, to kafka.NodeID) *metarec.PartitionChangeRecord {
	r := metarec.NewPartitionChangeRecord()
	r.TopicId, r.PartitionId, r.Leader = topic, 0, int32(to)
	r.Replicas, r.Isr, r.Directories = []int32{int32(to)}, []int32{int32(to)}, []kafka.UUID{kafka.DirUnassigned}
	return r
}

// A topic that is made again under its name is another topic (KIP-516).
func TestATopicMadeAgainIsEmpty(t *testing.T) {
	b := newBed(t).Start()
	first := b.Topic("t", 1)
	if _, err := b.Find("t", 0).Append(records(5), false); err != nil {
		t.Fatal(err)
	}
	b.Apply(&metarec.RemoveTopicRecord{TopicId: first})
	second := b.Topic("t", 1) // both in one delta
	if s := b.Find("t", 0).Status(); s.LogEnd != 0 || b.Find("t", 0).ID.Topic != second {
		t.Errorf("%+v", s)
	}
	if _, err := b.Manager.ByID(kafka.TopicIDPartition{Topic: first}); kerr.Of(err) != kerr.UnknownTopicId {
		t.Error(err)
	}
}

func TestLogsAreFoundAgain(t *testing.T) {
	mem := vfs.NewMem()
	b := testbed.New(t, mem, "/data", 2).Start()
	kept, stray := b.Topic("kept", 1), b.Topic("stray", 1)
	for _, name := range []string{"kept", "stray"} {
		if _, err := b.Find(name, 0).Append(records(5), false); err != nil {
			t.Fatal(err)
		}
	}
	dir := b.Find("kept", 0).Status().Dir
	b.Apply(&metarec.RemoveTopicRecord{TopicId: stray}) // while the broker is down
	b.Stop()
	again := b.Again(mem)
	s := again.Find("kept", 0).Status()
	if s.LogEnd != 5 || s.HighWatermark != 5 || s.Dir != dir || again.Find("kept", 0).ID.Topic != kept {
		t.Errorf("%+v", s)
	}
	if fmt.Sprint(again.Dirs.Aside) != "[{stray 0}]" {
		t.Errorf("set aside: %v", again.Dirs.Aside)
	}
}

// A crash may leave a new log's folder without its topic's id. Nothing is lost, and
// nobody has to look at it.
func TestAHalfMadeLogIsMadeAgain(t *testing.T) {
	mem := vfs.NewMem()
	b := testbed.New(t, mem, "/data", 2).Start()
	topic := b.Topic("t", 1)
	folder := filepath.Join(b.Dirs.Root[b.Find("t", 0).Status().Dir], "t-0")
	b.Stop()
	if err := mem.Remove(filepath.Join(folder, storage.PartitionMetadataFile)); err != nil {
		t.Fatal(err)
	}
	again := b.Again(mem)
	if _, err := again.Find("t", 0).Append(records(5), false); err != nil {
		t.Error(err)
	}
	if id, err := storage.ReadTopicID(mem, folder); id != topic || err != nil {
		t.Errorf("the folder has topic %v, %v", id, err)
	}
	if len(again.Dirs.Aside) != 0 || fmt.Sprint(again.Dirs.Gone) != "[{t 0}]" {
		t.Errorf("set aside %v, deleted %v", again.Dirs.Aside, again.Dirs.Gone)
	}
}

// One request may create thousands of logs: the first shows whether a directory
// takes one, and nobody waits for the folders of the others.
func TestOfManyNewLogsOneIsWaitedFor(t *testing.T) {
	b := newBed(t).Start()
	id := b.Topic("t", 10)
	if b.Dirs.Later != 9 {
		t.Errorf("%d of 10 logs may be made later, want 9", b.Dirs.Later)
	}
	b.Apply(testbed.Partition(id, 10, testbed.Self))
	b.Publish()
	if b.Dirs.Later != 9 {
		t.Error("a lone log was to be made later")
	}
}

func TestConfigurationsReachTheReplicas(t *testing.T) {
	b := newBed(t)
	id := b.AddTopic("t")
	b.Apply(testbed.Partition(id, 0, testbed.Self, testbed.Other))
	p := b.Start().Find("t", 0)
	set := func(kind image.ResourceType, resource, key, value string) {
		b.Apply(&metarec.ConfigRecord{ResourceType: int8(kind), ResourceName: resource, Name: key, Value: &value})
		b.Publish()
	}
	set(image.TopicResource, "t", "max.message.bytes", "50")
	if got := p.BatchPolicy(7); got.MaxBytes != 50 || got.Now != 7 {
		t.Errorf("%+v", got)
	}
	set(image.BrokerResource, "", "min.insync.replicas", "3")
	if got := p.Policy().MinInsyncReplicas; got != 3 {
		t.Errorf("cluster-wide default: min.insync.replicas is %d", got)
	}
	if got := p.BatchPolicy(7).MaxBytes; got != 50 {
		t.Errorf("the topic's own setting is %d now", got)
	}
	set(image.TopicResource, "t", "compression.type", "zstd")
	if got := p.BatchPolicy(7); !got.Recompress || got.Codec.String() != "zstd" {
		t.Errorf("%+v", got)
	}
	shrink := metarec.NewPartitionChangeRecord()
	shrink.TopicId, shrink.PartitionId, shrink.Isr = id, 0, []int32{int32(testbed.Self)}
	b.Apply(shrink)
	b.Publish()
	if _, err := p.Append(records(1), true); kerr.Of(err) == kerr.NotEnoughReplicas {
		return
	}
	t.Error("acks=all was taken with one replica of two in sync and min.insync.replicas 3")
}

// Lists of throttled replicas say nothing to a log, in whatever company they come; all
// else does, also what is taken back.
func TestWhichSettingsSayOtherToALog(t *testing.T) {
	const listed = "leader.replication.throttled.replicas"
	f := func(before, after map[string]string, want bool) {
		t.Helper()
		of := func(all map[string]string) pmap.Map[string, string] {
			m := pmap.Ordered[string, string]()
			for key, value := range all {
				m = m.With(key, value)
			}
			return m
		}
		if got := partitions.SayOther(of(before), of(after)); got != want {
			t.Errorf("from %v to %v: %v", before, after, got)
		}
	}
	type settings = map[string]string
	f(nil, settings{listed: "0:1"}, false)
	f(settings{listed: "0:1", "segment.ms": "7"}, settings{listed: "0:2", "segment.ms": "7"}, false)
	f(settings{listed: "0:1"}, nil, false)
	f(nil, settings{"nobody.knows": "1"}, false)
	f(nil, settings{"segment.ms": "7"}, true)
	f(settings{listed: "0:1", "segment.ms": "7"}, settings{listed: "0:2", "segment.ms": "8"}, true)
	f(settings{listed: "0:1", "segment.ms": "7"}, settings{listed: "0:1"}, true)
}

type elections []string

func (e *elections) Elected(tp kafka.TopicPartition, epoch kafka.Epoch) {
	*e = append(*e, fmt.Sprintf("elected %d in %d", tp.Partition, epoch))
}

func (e *elections) Resigned(tp kafka.TopicPartition, epoch kafka.Epoch, deleted bool) {
	*e = append(*e, fmt.Sprintf("resigned %d in %d deleted=%v", tp.Partition, epoch, deleted))
}

func TestCoordinatorsHearOfElections(t *testing.T) {
	var heard elections
	b := newBed(t)
	b.Elections = map[string]partitions.Elections{"t": &heard}
	id := b.AddTopic("t")
	b.Apply(testbed.Partition(id, 0, testbed.Self, testbed.Other))
	b.Start()
	elect(b, id, testbed.Other)
	elect(b, id, testbed.Self)
	b.Apply(&metarec.RemoveTopicRecord{TopicId: id})
	b.Publish()
	want := "[elected 0 in 0 resigned 0 in 0 deleted=false elected 0 in 2 resigned 0 in 2 deleted=true]"
	if fmt.Sprint(heard) != want {
		t.Errorf("%v, want %v", heard, want)
	}
}

func TestAFollowerServesNobodyYet(t *testing.T) {
	b := newBed(t)
	b.Apply(testbed.Partition(b.AddTopic("t"), 0, testbed.Other, testbed.Self))
	p := b.Start().Find("t", 0)
	if s := p.Status(); s.Role != replica.Following || s.Leader != testbed.Other {
		t.Errorf("%+v", s)
	}
	if _, err := p.Append(records(1), false); kerr.Of(err) != kerr.NotLeaderOrFollower {
		t.Error(err)
	}
}

// Rule: bytes count as those of a reassignment while it adds the replica that takes them.
func TestBytesOfAReassignmentCountWhileItAddsAReplica(t *testing.T) {
	b := newBed(t)
	id := b.AddTopic("t")
	b.Apply(testbed.Partition(id, 0, testbed.Self, testbed.Other))
	b.Start()
	p := b.Find("t", 0)
	follower := partitions.Reader{Follower: testbed.Other, BrokerEpoch: kafka.NoBrokerEpoch}
	f := func(when string, adding []int32, want string) {
		t.Helper()
		change := metarec.NewPartitionChangeRecord()
		change.TopicId, change.PartitionId, change.AddingReplicas = id, 0, adding
		b.Apply(change)
		b.Publish()
		p.Fetched(follower, 100, nil)
		p.Fetched(partitions.Consumer, 7, nil)
		in, out, _ := b.Manager.Counted()
		if got := fmt.Sprintf("in %g out %g", in, out); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	f("no reassignment", nil, "in 0 out 0")
	f("it adds another", []int32{99}, "in 0 out 0")
	f("it adds the follower", []int32{int32(testbed.Other)}, "in 0 out 100")
	f("it is done", []int32{}, "in 0 out 100")
}

func TestBytesThatComeInForAReassignmentCount(t *testing.T) {
	b := newBed(t)
	id := b.AddTopic("t")
	b.Apply(testbed.Partition(id, 0, testbed.Other, testbed.Self))
	change := metarec.NewPartitionChangeRecord()
	change.TopicId, change.PartitionId, change.AddingReplicas = id, 0, []int32{int32(testbed.Self)}
	b.Apply(change)
	b.Start()
	follower := b.Find("t", 0).Follower()
	at, ok := follower.Stands()
	if !ok {
		t.Fatal("the replica does not follow")
	}
	sent := records(3)
	if _, err := follower.Take(at, partitions.FromLeader{Records: sent}); err != nil {
		t.Fatal(err)
	}
	if in, _, _ := b.Manager.Counted(); in != float64(len(sent)) {
		t.Errorf("%g bytes of %d count", in, len(sent))
	}
}

// Rule: what metadata asks for and the broker cannot do is counted.
func TestAReplicaThatCannotBeMadeCounts(t *testing.T) {
	mem := vfs.NewMem()
	fault := vfs.NewFault(mem)
	b := testbed.New(t, fault, "/data", 1).Start()
	b.Topic("fine", 1)
	if _, _, failed := b.Manager.Counted(); failed != 0 {
		t.Errorf("%g errors although all went well", failed)
	}
	fault.Inject(vfs.Rule{Ops: vfs.OpMkdir, Err: vfs.ErrNoSpace})
	b.Topic("broken", 1)
	if _, _, failed := b.Manager.Counted(); failed != 1 {
		t.Errorf("%g errors count, want 1", failed)
	}
}
