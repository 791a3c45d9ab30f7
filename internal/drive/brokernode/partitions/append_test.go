package partitions_test

import (
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
	"github.com/ottla/ottla/internal/edge/await"
)

func newBed(t testing.TB) *testbed.Bed { return testbed.New(t, vfs.NewMem(), "/data", 2) }

// records builds a batch of n records.
func records(n int, producer ...batch.Producer) []byte {
	opt := batch.Options{}
	if len(producer) > 0 {
		opt.Producer = &producer[0]
	}
	w := batch.NewBuilder(opt)
	for range n {
		w.Add(1000, []byte("key"), []byte("value"))
	}
	return w.Build(nil)
}

func want(offset kafka.Offset) partitions.Want {
	return partitions.Want{CurrentEpoch: kafka.NoEpoch, LastEpoch: kafka.NoEpoch, Offset: offset, MaxBytes: 1 << 20, AtLeastOne: true}
}

// count reads from an offset on and counts records.
func count(t *testing.T, p *partitions.Partition, r partitions.Reader, from kafka.Offset) int {
	t.Helper()
	d, err := p.Read(r, want(from))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Records.Close()
	b, err := d.Records.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for h := range batch.All(b) {
		n += int(h.Count)
	}
	return n
}

func TestAppendedIsCommittedAndReadBack(t *testing.T) {
	b := newBed(t).Start()
	b.Topic("t", 1)
	p := b.Find("t", 0)
	for i := range 3 {
		got, err := p.Append(records(2), true)
		if err != nil || got.Base != kafka.Offset(2*i) || got.End != got.Base+2 || got.Epoch != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		if done, err := p.Acked(got, true); !done || err != nil {
			t.Errorf("alone, and not committed: %v, %v", done, err)
		}
	}
	if n := count(t, p, partitions.Consumer, 3); n != 4 {
		t.Errorf("%d records from offset 3 on, want the batch that holds it and the next", n)
	}
	if n := count(t, p, partitions.Consumer, 6); n != 0 {
		t.Errorf("%d records at the end", n)
	}
	for _, o := range []kafka.Offset{-1, 7} {
		if _, err := p.Read(partitions.Consumer, want(o)); kerr.Of(err) != kerr.OffsetOutOfRange {
			t.Errorf("offset %d: %v", o, err)
		}
	}
}

func TestADuplicateHasItsFirstOffset(t *testing.T) {
	b := newBed(t).Start()
	b.Topic("t", 1)
	p := b.Find("t", 0)
	who := batch.Producer{ID: 7, Epoch: 0, Sequence: 0}
	first, err := p.Append(records(3, who), true)
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Append(records(3, who), true)
	if err != nil || again.Base != first.Base || p.Status().LogEnd != 3 {
		t.Errorf("%+v, %v; log end %d", again, err, p.Status().LogEnd)
	}
	if _, err := p.Append(records(1, batch.Producer{ID: 7, Epoch: 0, Sequence: 9}), true); kerr.Of(err) != kerr.OutOfOrderSequenceNumber {
		t.Errorf("a gap: %v", err)
	}
}

func TestFencing(t *testing.T) {
	b := newBed(t)
	id := b.AddTopic("t")
	part := testbed.Partition(id, 0, testbed.Self)
	part.LeaderEpoch = 5
	b.Apply(part)
	p := b.Start().Find("t", 0)
	f := func(epoch kafka.Epoch, want kerr.Code) {
		t.Helper()
		if _, err := p.Find(partitions.Consumer, epoch, partitions.LatestTime); kerr.Of(err) != want {
			t.Errorf("ListOffsets in epoch %d: %v, want %v", epoch, err, want)
		}
		if _, _, err := p.EpochEnd(epoch, 5); kerr.Of(err) != want {
			t.Errorf("OffsetForLeaderEpoch in epoch %d: %v, want %v", epoch, err, want)
		}
		w := partitions.Want{CurrentEpoch: epoch, LastEpoch: kafka.NoEpoch}
		if _, err := p.Read(partitions.Consumer, w); kerr.Of(err) != want {
			t.Errorf("Fetch in epoch %d: %v, want %v", epoch, err, want)
		}
	}
	f(-1, kerr.None)
	f(4, kerr.FencedLeaderEpoch)
	f(5, kerr.None)
	f(6, kerr.UnknownLeaderEpoch)
	if _, err := p.AppendAt(4, records(1)); kerr.Of(err) != kerr.FencedLeaderEpoch {
		t.Errorf("append in an old epoch: %v", err)
	}
}

// A follower whose directory has failed, and which the controller has taken out of the
// ISR, is not waited for, however shortly ago it had all.
func TestAFollowerInALostDirectoryHoldsNothingUp(t *testing.T) {
	b := newBed(t)
	topic := b.AddTopic("t")
	record := testbed.Partition(topic, 0, testbed.Self, testbed.Other)
	record.Directories[1] = testbed.DirID(7)
	registered := func(dirs ...kafka.DirID) *metarec.BrokerRegistrationChangeRecord {
		r := metarec.NewBrokerRegistrationChangeRecord()
		r.BrokerId, r.BrokerEpoch, r.LogDirs = int32(testbed.Other), 100+int64(testbed.Other), dirs
		return r
	}
	b.Apply(record, registered(testbed.DirID(7), testbed.DirID(8)))
	p := b.Start().Find("t", 0)
	follower := partitions.Reader{Follower: testbed.Other, BrokerEpoch: kafka.NoBrokerEpoch}
	if _, err := p.Append(records(4), true); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Read(follower, want(4)); err != nil {
		t.Fatal(err)
	}
	gone := metarec.NewPartitionChangeRecord()
	gone.TopicId, gone.PartitionId, gone.Isr = topic, 0, []int32{int32(testbed.Self)}
	b.Apply(gone, registered(testbed.DirID(8)))
	b.Publish()
	got, err := p.Append(records(2), true)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := p.Acked(got, true); !done || err != nil {
		t.Errorf("the leader waits for a replica on a dead disk: %v, %v", done, err)
	}
}

// Rule: a leader hears what becomes of the brokers of its followers, without a word about
// its partition: one that is fenced is not wished for, and one that is unfenced is.
func TestALeaderHearsOfTheBrokersOfItsFollowers(t *testing.T) {
	b := newBed(t)
	var sent proposals
	b.ISR = &sent
	topic := b.AddTopic("t")
	record := testbed.Partition(topic, 0, testbed.Self, testbed.Other)
	record.Isr = []int32{int32(testbed.Self)}
	b.Apply(record)
	p := b.Start().Find("t", 0)
	follower := partitions.Reader{Follower: testbed.Other, BrokerEpoch: 100 + kafka.BrokerEpoch(testbed.Other)}
	f := func(fencing int8, wishes int) {
		t.Helper()
		r := metarec.NewBrokerRegistrationChangeRecord()
		r.BrokerId, r.BrokerEpoch, r.Fenced = int32(testbed.Other), 100+int64(testbed.Other), fencing
		b.Apply(r)
		b.Publish()
		if _, err := p.Read(follower, want(0)); err != nil {
			t.Fatal(err)
		}
		if len(sent) != wishes {
			t.Errorf("%d wishes", len(sent))
		}
	}
	f(1, 0)
	f(-1, 1)
}

// A follower's fetch moves the high watermark, which wakes the consumer and the
// producer that wait for it.
func TestFollowersMoveTheHighWatermark(t *testing.T) {
	b := newBed(t)
	b.Apply(testbed.Partition(b.AddTopic("t"), 0, testbed.Self, testbed.Other))
	p := b.Start().Find("t", 0)
	got, err := p.Append(records(4), true)
	if err != nil {
		t.Fatal(err)
	}
	if done, _ := p.Acked(got, true); done {
		t.Error("committed without the follower")
	}
	if done, err := p.Acked(got, false); !done || err != nil {
		t.Error("acks=1 waits for nobody")
	}
	var consumers, producers atomic.Int32
	watch := func(n *atomic.Int32, enlist func(*await.Watch)) {
		w := &await.Watch{Parked: &await.Parked{}}
		w.Parked.Init(b.Timers, func() bool { n.Add(1); return false }, func(await.Outcome) {})
		enlist(w)
	}
	watch(&consumers, func(w *await.Watch) {
		if _, _, err := p.ReadAndWatch(partitions.Consumer, want(0), w, nil); err != nil {
			t.Fatal(err)
		}
	})
	watch(&producers, p.AwaitCommit)
	follower := partitions.Reader{Follower: testbed.Other, BrokerEpoch: kafka.NoBrokerEpoch}
	if n := count(t, p, partitions.Consumer, 0); n != 0 {
		t.Errorf("a consumer sees %d records before they are committed", n)
	}
	if n := count(t, p, follower, 0); n != 4 {
		t.Errorf("the follower sees %d records", n)
	}
	if _, err := p.Read(follower, want(4)); err != nil {
		t.Fatal(err)
	}
	if done, err := p.Acked(got, true); !done || err != nil {
		t.Errorf("the follower has it all: %v, %v", done, err)
	}
	if consumers.Load() < 1 || producers.Load() < 1 {
		t.Errorf("%d consumers and %d producers woken", consumers.Load(), producers.Load())
	}
	stranger := partitions.Reader{Follower: 9, BrokerEpoch: kafka.NoBrokerEpoch}
	if _, err := p.Read(stranger, want(0)); kerr.Of(err) != kerr.NotLeaderOrFollower {
		t.Errorf("no replica: %v", err)
	}
}

// The leader's history ends epoch 0 at 4. A follower that has records of it
// beyond, or of an epoch nobody knows, is told where the logs part.
func TestDivergingFollowersAreTold(t *testing.T) {
	b := newBed(t)
	id := b.AddTopic("t")
	b.Apply(testbed.Partition(id, 0, testbed.Self, testbed.Other))
	p := b.Start().Find("t", 0)
	if _, err := p.Append(records(4), false); err != nil {
		t.Fatal(err)
	}
	elect(b, id, testbed.Other)
	elect(b, id, testbed.Self)
	if _, err := p.Append(records(2), false); err != nil {
		t.Fatal(err)
	}
	f := func(last kafka.Epoch, offset kafka.Offset, want *partitions.Divergence) {
		t.Helper()
		d, err := p.Read(partitions.Reader{Follower: testbed.Other, BrokerEpoch: -1}, partitions.Want{CurrentEpoch: 2, LastEpoch: last, Offset: offset, MaxBytes: 1000})
		if err != nil {
			t.Fatal(err)
		}
		d.Records.Close()
		switch {
		case (d.Diverging == nil) != (want == nil):
			t.Errorf("epoch %d offset %d: %+v, want %+v", last, offset, d.Diverging, want)
		case want != nil && *d.Diverging != *want:
			t.Errorf("epoch %d offset %d: %+v, want %+v", last, offset, *d.Diverging, *want)
		}
	}
	f(0, 4, nil)
	f(0, 5, &partitions.Divergence{Epoch: 0, End: 4})
	f(1, 5, &partitions.Divergence{Epoch: 0, End: 4})
	f(2, 6, nil)
}

// elect publishes another leader, in the next epoch.
func elect(b *testbed.Bed, topic kafka.TopicID, leader kafka.NodeID) {
	b.Apply(testbed.Elect(topic, 0, leader))
	b.Publish()
}

func TestWhoWaitsIsAnsweredWhenLeadershipIsLost(t *testing.T) {
	b := newBed(t)
	id := b.AddTopic("t")
	b.Apply(testbed.Partition(id, 0, testbed.Self, testbed.Other))
	p := b.Start().Find("t", 0)
	got, err := b.Manager.Append(p.Name, 0, records(1))
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	b.Manager.OnCommit(p.Name, got, func(err error) { result <- err })
	elect(b, id, testbed.Other)
	if err := <-result; kerr.Of(err) != kerr.NotLeaderOrFollower {
		t.Error(err)
	}
}

// With flush.messages=1 nobody learns of a record before it is on disk: not the
// producer, with any acks, and not a consumer.
func TestFlushedBeforeAnybodyIsTold(t *testing.T) {
	mem := vfs.NewMem()
	b := testbed.New(t, mem, "/data", 1).Start()
	b.Topic("t", 1, "flush.messages", "1")
	p := b.Find("t", 0)
	who := batch.Producer{ID: 3, Epoch: 0, Sequence: 0}
	for i := range 2 { // the second time it is a duplicate of what is on disk
		got, err := p.Append(records(5, who), false)
		if err != nil || got.Sync != (i == 0) {
			t.Fatalf("%+v, %v", got, err)
		}
		await1(t, b, p, got)
		after := b.Again(mem.Crash())
		if end := after.Find("t", 0).Status().LogEnd; end != 5 {
			t.Fatalf("%d of 5 records are there after a loss of power", end)
		}
	}
	if n := count(t, p, partitions.Consumer, 0); n != 5 {
		t.Errorf("%d records", n)
	}
}

// await1 waits until a producer with acks=1 would be answered.
func await1(t *testing.T, b *testbed.Bed, p *partitions.Partition, a partitions.Appended) {
	t.Helper()
	done := make(chan struct{})
	parked := &await.Parked{}
	parked.Init(b.Timers, func() bool { ok, _ := p.Acked(a, false); return ok }, func(await.Outcome) { close(done) })
	p.AwaitCommit(&await.Watch{Parked: parked})
	parked.Start(time.Minute)
	<-done
	if ok, err := p.Acked(a, false); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
}

// Appends that arrive during a sync share the next one.
func TestGroupCommit(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	disk := &countedDisk{FS: fault}
	b := testbed.New(t, disk, "/data", 1).Start()
	b.Topic("t", 1, "flush.messages", "1")
	p := b.Find("t", 0)
	release := make(chan struct{})
	fault.Inject(vfs.Rule{Ops: vfs.OpSync, Path: ".log", Hang: release})
	var last partitions.Appended
	for range 50 {
		var err error
		if last, err = p.Append(records(1), true); err != nil {
			t.Fatal(err)
		}
	}
	if s := p.Status(); s.HighWatermark != 0 || count(t, p, partitions.Consumer, 0) != 0 {
		t.Errorf("high watermark %d before the first sync", s.HighWatermark)
	}
	close(release)
	await1(t, b, p, last)
	if n := disk.syncs.Load(); n > 2 {
		t.Errorf("%d syncs of the log for 50 appends", n)
	}
}

// countedDisk counts the syncs of log files.
type countedDisk struct {
	vfs.FS
	syncs atomic.Int32
}

type countedFile struct {
	vfs.File
	disk *countedDisk
}

func (d *countedDisk) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := d.FS.OpenFile(name, flag, perm)
	return &countedFile{f, d}, err
}

func (f *countedFile) Sync() error {
	if strings.HasSuffix(f.Name(), ".log") {
		f.disk.syncs.Add(1)
	}
	return f.File.Sync()
}

func TestAFailedDiskAnswersEverybody(t *testing.T) {
	disk := vfs.NewFault(vfs.NewMem())
	b := testbed.New(t, disk, "/data", 2).Start()
	b.Topic("t", 2)
	broken, well := b.Find("t", 0), b.Find("t", 1)
	if broken.Status().Dir == well.Status().Dir {
		t.Fatal("both partitions lie in one directory")
	}
	disk.Inject(vfs.Rule{Ops: vfs.OpWrite, Path: b.Dirs.Root[broken.Status().Dir], Err: vfs.ErrIO})
	if _, err := broken.Append(records(1), true); kerr.Of(err) != kerr.KafkaStorageError {
		t.Errorf("append: %v", err)
	}
	b.Manager.DirFailed(broken.Status().Dir)
	if _, err := broken.Read(partitions.Consumer, want(0)); kerr.Of(err) != kerr.KafkaStorageError {
		t.Errorf("read: %v", err)
	}
	if s := broken.Status(); !s.Offline {
		t.Errorf("%+v", s)
	}
	if _, err := well.Append(records(1), true); err != nil {
		t.Errorf("the other disk: %v", err)
	}
}

type proposals []*replica.Proposal

func (p *proposals) Propose(_ kafka.TopicIDPartition, one *replica.Proposal) { *p = append(*p, one) }

func TestProposalsReachTheController(t *testing.T) {
	var sent proposals
	b := newBed(t)
	b.ISR = &sent
	id := b.AddTopic("t")
	part := testbed.Partition(id, 0, testbed.Self, testbed.Other)
	part.Isr = []int32{int32(testbed.Self)}
	b.Apply(part)
	p := b.Start().Find("t", 0)
	if _, err := p.Read(partitions.Reader{Follower: testbed.Other, BrokerEpoch: -1}, want(0)); err != nil {
		t.Fatal(err)
	}
	if len(sent) != 1 || len(sent[0].ISR) != 2 {
		t.Fatalf("proposals %+v", sent)
	}
	b.Manager.Proposed(p.ID, replica.Proposed{To: sent[0], Outcome: replica.Accepted, ISR: []kafka.NodeID{1, 2}, Epoch: 1})
	got, err := p.Append(records(1), true)
	if err != nil {
		t.Fatal(err)
	}
	if done, _ := p.Acked(got, true); done {
		t.Error("the new member of the ISR does not count")
	}
}

// However appends and syncs interleave, everybody is answered, and what is
// answered is on disk.
func TestManyProducersShareSyncs(t *testing.T) {
	mem := vfs.NewMem()
	b := testbed.New(t, mem, "/data", 1).Start()
	b.Topic("t", 1, "flush.messages", "3")
	p := b.Find("t", 0)
	var producers sync.WaitGroup
	for range 8 {
		producers.Go(func() {
			for range 50 {
				got, err := p.Append(records(1), true)
				if err != nil {
					t.Error(err)
					return
				}
				done := make(chan error, 1)
				b.Manager.OnCommit(p.Name, got, func(err error) { done <- err })
				if err := <-done; err != nil {
					t.Error(err)
				}
				if synced, err := p.Durable(); got.Sync && (err != nil || synced < got.End) {
					t.Errorf("answered at %d, synced to %d, %v", got.End, synced, err)
				}
			}
		})
	}
	producers.Wait()
	if s := p.Status(); s.HighWatermark != 400 {
		t.Errorf("%+v", s)
	}
	if end := b.Again(mem.Crash()).Find("t", 0).Status().LogEnd; end < 398 {
		t.Errorf("%d of 400 records are there after a loss of power, with a sync each 3", end)
	}
}
