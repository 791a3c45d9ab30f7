package api

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
	"github.com/ottla/ottla/internal/edge/transport"
)

func BenchmarkProduceHandler(b *testing.B) {
	r := newDataRigOn(b, vfs.OS{}, b.TempDir())
	id := r.Topic("t", 1)
	records := lines(batch.Options{}, make([]string, 100)...)
	in := r.request(produceRequest(-1, "t", id, 0, records), 9)
	route := r.produce()
	b.SetBytes(int64(len(records)))
	b.ReportAllocs()
	for b.Loop() {
		batch.SetBaseOffset(records, 0)
		route.Serve(in, func(transport.Reply) {})
	}
}

// A consumer at the tail that gets one batch of each of some partitions.
func BenchmarkFetchHandler(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(n, " partitions"), func(b *testing.B) {
			r := newDataRigOn(b, vfs.OS{}, b.TempDir())
			id := r.Topic("t", n)
			var pairs []int
			for i := range n {
				r.append("t", i, lines(batch.Options{}, make([]string, 100)...))
				pairs = append(pairs, i, 0)
			}
			in := r.request(fetchRequest(from("t", id, pairs...)), 12)
			b.ReportAllocs()
			for b.Loop() {
				r.fetch.serve(in, func(_ partsOf, release func()) { release() })
			}
		})
	}
}

// A consumer that waits, is woken by an append and gets it.
func BenchmarkFetchWoken(b *testing.B) {
	r := newDataRigOn(b, vfs.OS{}, b.TempDir())
	id := r.Topic("t", 1)
	records := lines(batch.Options{}, "value")
	end := 0
	b.ReportAllocs()
	for b.Loop() {
		req := fetchRequest(from("t", id, 0, end))
		req.MaxWaitMillis = 10_000
		woken := false
		r.fetch.serve(r.request(req, 12), func(_ partsOf, release func()) { release(); woken = true })
		batch.SetBaseOffset(records, 0)
		r.append("t", 0, records)
		if end++; !woken {
			b.Fatal("not woken")
		}
	}
}

// A follower with a session of many partitions, one of which gets a batch: the
// parked fetch is answered, and the next one parks.
func BenchmarkSessionWoken(b *testing.B) {
	for _, n := range []int{1, 1000, 5000} {
		b.Run(fmt.Sprint(n, " partitions"), func(b *testing.B) { benchmarkSession(b, n) })
	}
}

func benchmarkSession(b *testing.B, n int) {
	r := newDataRigOn(b, vfs.OS{}, b.TempDir())
	id := r.AddTopic("t")
	var pairs []int
	for i := range n {
		r.Apply(testbed.Partition(id, i, testbed.Self, testbed.Other))
		pairs = append(pairs, i, 0)
	}
	r.Publish()
	session, epoch, end := int32(0), int32(0), 0
	fetch := func(wait int32, topics ...kmsg.FetchRequestTopic) (answered *bool) {
		req := inSession(fetchRequest(topics...), session, epoch)
		req.MaxWaitMillis, req.ReplicaState.ID, req.ReplicaState.Epoch = wait, int32(testbed.Other), 102
		epoch++
		answered = new(bool)
		r.fetch.serve(r.request(req, 17), func(body partsOf, release func()) {
			if session == 0 {
				session = r.decode(body, 17).SessionID
			}
			release()
			*answered = true
		})
		return answered
	}
	fetch(0, from("t", id, pairs...))
	records := lines(batch.Options{}, "value")
	topic := from("t", id, n/2, 0)
	b.ReportAllocs()
	for b.Loop() {
		topic.Partitions[0].FetchOffset = int64(end)
		woken := fetch(10_000, topic)
		if *woken {
			b.Fatal("not parked")
		}
		batch.SetBaseOffset(records, 0)
		if _, err := r.Find("t", n/2).Append(records, false); err != nil {
			b.Fatal(err)
		}
		if end++; !*woken {
			b.Fatal("not woken")
		}
	}
}
