package coordnode

import (
	"context"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/group"
)

func benchGroups(partitions int) (*Groups, *memLog) {
	log := newMemLog()
	n := New(Config{
		Log: log, Group: group.Defaults(), Partitions: func() int32 { return int32(partitions) },
		TopicExists: func(string) bool { return true },
		Logger:      slog.New(slog.NewTextHandler(io.Discard, nil)),
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
