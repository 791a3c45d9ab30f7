package coordnode

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/group"
)

func benchGroups(partitions int) (*Groups, *memLog) {
	log := newMemLog()
	n := New(Config{
		Log: log, Group: group.Defaults(), Partitions: func() int32 { return int32(partitions) },
		TopicID: func(string) (kafka.TopicID, bool) { return kafka.TopicID{}, true },
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	for p := range partitions {
		log.elect(kafka.PartitionID(p), 1)
		n.Elected(tp(kafka.PartitionID(p)), 1)
	}
	return n, log
}

// TestIdlePartitionsAreCheap: a led partition that nobody uses has no goroutine
// and takes less than 4 KiB.
func TestIdlePartitionsAreCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 1000
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		goroutines := runtime.NumGoroutine()
		n, _ := benchGroups(count)
		synctest.Wait()
		runtime.GC()
		runtime.ReadMemStats(&after)
		if got := runtime.NumGoroutine() - goroutines; got > 0 {
			t.Errorf("%d goroutines for %d idle partitions", got, count)
		}
		if each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / count; each > 4096 {
			t.Errorf("an idle partition takes %d bytes", each)
		}
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkCommits is commits of one partition each by many clients at once,
// from the request to its answer.
func BenchmarkCommits(b *testing.B) {
	n, log := benchGroups(1)
	defer n.Close(context.Background())
	ready := func() bool { _, ok := n.led[0].take(&group.List{Call: group.Call{Token: func() {}}}); return !ok }
	for !ready() {
		runtime.Gosched()
	}
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		var done sync.WaitGroup
		for pb.Next() {
			done.Add(1)
			n.Submit(commitOf("g", 1), done.Done)
			done.Wait()
		}
	})
	b.ReportMetric(float64(b.N)/float64(log.count()), "commits/batch")
}

// BenchmarkLoad is the load of a million commits: of 1000 groups, each 100 times
// for 10 partitions.
func BenchmarkLoad(b *testing.B) {
	n, log := benchGroups(0)
	defer n.Close(context.Background())
	fill(b, log, 1000, 100, 10)
	b.ReportAllocs()
	for b.Loop() {
		p := newPartition(n, 0, 1)
		records, err := p.replay()
		if err != nil || records != 1_000_000 {
			b.Fatalf("%d records: %v", records, err)
		}
	}
	b.ReportMetric(float64(b.N)*1e6/b.Elapsed().Seconds(), "records/s")
}

// fill writes commits into partition 0, those of one request in one batch.
func fill(b *testing.B, log *memLog, groups, times, partitions int) {
	b.Helper()
	log.elect(0, 1)
	builder := batch.NewBuilder(batch.Options{})
	for range times {
		for g := range groups {
			builder.Reset(batch.Options{})
			for p := range partitions {
				key, err := metarec.AppendCoordinatorKey(nil, &metarec.OffsetCommitKey{Group: fmt.Sprintf("group-%d", g), Topic: "a-topic-of-usual-length", Partition: int32(p)})
				if err != nil {
					b.Fatal(err)
				}
				value := metarec.NewOffsetCommitValue()
				value.TopicId = kafka.TopicID{1}
				body, err := metarec.AppendCoordinatorValue(nil, value, 4)
				if err != nil {
					b.Fatal(err)
				}
				builder.Add(1_700_000_000_000, key, body)
			}
			if err := log.Append(0, 1, builder.Build(nil), func(error) {}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
