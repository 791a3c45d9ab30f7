package image

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/ottla/ottla/internal/base/metarec"
)

// large is a cluster of 30 brokers and 10,000 topics with ten partitions each,
// three replicas of each partition, all in sync.
func large(tb testing.TB) *Image {
	tb.Helper()
	const brokers, topics, partitions = 30, 10_000, 10
	recs := []metarec.Message{level(LatestLevel)}
	for n := range int32(brokers) {
		recs = append(recs, broker(n+1, int64(n+1), 1000+int(n)))
	}
	for t := range topics {
		recs = append(recs, topic(fmt.Sprintf("topic_%d", t), t+1))
		for n := range partitions {
			r := metarec.NewPartitionRecord()
			r.TopicId, r.PartitionId = id(t+1), int32(n)
			for i := range 3 {
				b := int32((t*7+n*3+i*11)%brokers) + 1
				r.Replicas = append(r.Replicas, b)
				r.Directories = append(r.Directories, id(999+int(b)))
			}
			r.Isr, r.Leader, r.LeaderEpoch, r.PartitionEpoch = r.Replicas, r.Replicas[0], 0, 0
			recs = append(recs, r)
		}
	}
	return after(tb, Empty(), recs...)
}

// BenchmarkLoad100000Partitions is the load of a snapshot; heap-B/partition is
// what the image keeps.
func BenchmarkLoad100000Partitions(b *testing.B) {
	recs := records(b, large(b))
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	var img *Image
	for b.Loop() {
		loader := NewLoader(NoProvenance)
		if err := loader.Add(recs...); err != nil {
			b.Fatal(err)
		}
		img = loader.Done()
	}
	runtime.GC()
	runtime.ReadMemStats(&now)
	b.ReportMetric(float64(now.HeapAlloc-before.HeapAlloc)/float64(img.PartitionCount()), "heap-B/partition")
	runtime.KeepAlive(img)
	runtime.KeepAlive(recs)
}

// The cost of a small change must not depend on how much there is.
func BenchmarkApplyOneChangeTo100000Partitions(b *testing.B) {
	img := large(b)
	r := change(5000, 3)
	r.Isr = []int32{1, 2}
	b.ReportAllocs()
	for b.Loop() {
		next, _, err := Apply(img, []metarec.Message{r})
		if err != nil {
			b.Fatal(err)
		}
		img = next
	}
}

// A topic's configuration, as metadata storms change it.
func BenchmarkApplyOneConfigTo100000Partitions(b *testing.B) {
	img := large(b)
	values := []string{"1:100,2:100", "3:100,4:100"}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		r := ConfigRecord(TopicOf("topic_77"), "leader.replication.throttled.replicas", &values[n%2])
		next, _, err := Apply(img, []metarec.Message{r})
		if err != nil {
			b.Fatal(err)
		}
		img = next
	}
}

func BenchmarkAlike(b *testing.B) {
	img := large(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, found := img.Alike("topic_new"); found {
			b.Fatal("found")
		}
	}
}
