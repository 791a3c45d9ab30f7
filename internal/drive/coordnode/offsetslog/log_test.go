package offsetslog_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
	"github.com/ottla/ottla/internal/drive/coordnode"
	"github.com/ottla/ottla/internal/drive/coordnode/offsetslog"
)

// coordinator runs group coordinators over the partitions of a bed, all of which
// it leads.
func coordinator(bed *testbed.Bed) *coordnode.Groups {
	n := coordnode.New(coordnode.Config{
		Log: offsetslog.Over(bed.Manager), Group: group.Defaults(), Partitions: func() int32 { return 2 },
		TopicID: func(string) (kafka.TopicID, bool) { return kafka.TopicID{}, true },
		Logger:  slog.New(slog.DiscardHandler),
	})
	for p := range kafka.PartitionID(2) {
		_, epoch := bed.Find(kafka.ConsumerOffsetsTopic, int(p)).Leader()
		n.Elected(kafka.TopicPartition{Topic: kafka.ConsumerOffsetsTopic, Partition: p}, epoch)
	}
	return n
}

// ask submits what next gives until it is no longer told to come again.
func ask[R group.Request](t *testing.T, n *coordnode.Groups, next func() R) R {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		r, done := next(), make(chan struct{})
		n.Submit(r, func() { close(done) })
		select {
		case <-done:
		case <-limit:
			t.Fatal("no answer")
		}
		if group.CallOf(r).Err != kerr.CoordinatorLoadInProgress {
			return r
		}
	}
}

// What was answered by one coordinator is found by the next one after a loss of
// power, if the topic asks for a sync of each record (flush.messages); also when
// the log has many batches.
func TestCommitAndLoad(t *testing.T) {
	disk := vfs.NewMem()
	bed := testbed.New(t, disk, "/data", 1).Start()
	bed.Topic(kafka.ConsumerOffsetsTopic, 2, "cleanup.policy", "compact", "flush.messages", "1")
	n := coordinator(bed)
	const commits = 300
	for i := range commits {
		c := ask(t, n, func() *group.CommitOffsets { return commit("g", kafka.Offset(i)) })
		if c.Err != kerr.None {
			t.Fatalf("commit %d: %v", i, c.Err)
		}
	}
	stop(t, n)

	n = coordinator(bed.Again(disk.Crash()))
	f := ask(t, n, func() *group.FetchOffsets { return &group.FetchOffsets{Call: group.Call{Group: "g"}, All: true} })
	if f.Err != kerr.None || len(f.Offsets) != 1 || f.Offsets[0].Offset != commits-1 {
		t.Errorf("%v %v, want offset %d", f.Err, f.Offsets, commits-1)
	}
	stop(t, n)
}

// A partition is only of use in the epoch in which this broker leads it.
func TestWrongEpoch(t *testing.T) {
	bed := testbed.New(t, vfs.NewMem(), "/data", 1).Start()
	bed.Topic(kafka.ConsumerOffsetsTopic, 1)
	log := offsetslog.Over(bed.Manager)
	if _, _, err := log.Bounds(0, 0); err != nil {
		t.Errorf("the epoch we lead in: %v", err)
	}
	if _, _, err := log.Bounds(0, 1); kerr.Of(err) != kerr.NotLeaderOrFollower {
		t.Errorf("another epoch: %v", err)
	}
	if _, _, err := log.Bounds(7, 0); err == nil {
		t.Error("a partition that is not here has bounds")
	}
	if got := log.MaxBatch(0); got != 1<<20+12 {
		t.Errorf("largest batch is %d", got)
	}
}

func commit(id string, offset kafka.Offset) *group.CommitOffsets {
	return &group.CommitOffsets{
		Call: group.Call{Group: id}, Member: group.Member{Generation: -1}, Retention: -1,
		Offsets: []group.CommitOffset{{TopicPartition: kafka.TopicPartition{Topic: "t"}, Offset: offset, LeaderEpoch: -1}},
	}
}

func stop(t *testing.T, n *coordnode.Groups) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := n.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// An offset that a transaction has committed, with another broker as coordinator,
// counts when its marker is written here; so it does when the log is loaded anew.
func TestAMarkerMakesTheOffsetsOfItsTransactionCount(t *testing.T) {
	bed := testbed.New(t, vfs.NewMem(), "/data", 1).Start()
	bed.Topic(kafka.ConsumerOffsetsTopic, 2, "cleanup.policy", "compact")
	at := kafka.PartitionID(kafka.CoordinatedBy("g", 2))
	value := metarec.NewOffsetCommitValue()
	value.Offset = 42
	key, err := metarec.AppendCoordinatorKey(nil, &metarec.OffsetCommitKey{Group: "g", Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	body, err := metarec.AppendCoordinatorValue(nil, value, 3)
	if err != nil {
		t.Fatal(err)
	}
	w := batch.NewBuilder(batch.Options{Transactional: true, Producer: &batch.Producer{ID: 7, Epoch: 1}})
	w.Add(1000, key, body)
	if _, err := bed.Find(kafka.ConsumerOffsetsTopic, int(at)).Append(w.Build(nil), true); err != nil {
		t.Fatal(err)
	}
	n := coordinator(bed)
	fetch := func() *group.FetchOffsets {
		return &group.FetchOffsets{Call: group.Call{Group: "g"}, Stable: true, Offsets: []group.FetchOffset{{TopicPartition: kafka.TopicPartition{Topic: "t"}}}}
	}
	if got := ask(t, n, fetch).Offsets[0]; got.Err != kerr.UnstableOffsetCommit {
		t.Errorf("before the marker: %+v", got)
	}
	end := func(epoch int16) kerr.Code {
		r, done := &group.EndTransaction{Producer: 7, Epoch: epoch, Commit: true}, make(chan struct{})
		n.EndTransaction(at, r, func() { close(done) })
		<-done
		return r.Err
	}
	if code := end(0); code != kerr.InvalidProducerEpoch {
		t.Errorf("a marker of an old epoch: %v", code)
	}
	if code := end(1); code != kerr.None {
		t.Errorf("the marker: %v", code)
	}
	for range 2 {
		if got := ask(t, n, fetch).Offsets[0]; got.Offset != 42 || got.Err != kerr.None {
			t.Errorf("after the marker: %+v", got)
		}
		if err := n.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		n = coordinator(bed)
	}
	if err := n.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if code := end(1); code != kerr.NotCoordinator {
		t.Errorf("of who leads no more: %v", code)
	}
}
