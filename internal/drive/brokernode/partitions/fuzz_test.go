package partitions_test

import (
	"errors"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/batch/batchtest"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// copies are n one-record batches from an offset on, as a leader sends them.
func copies(from kafka.Offset, n int) (all []byte) {
	for i := range n {
		b := batch.NewBuilder(batch.Options{BaseOffset: from + kafka.Offset(i)})
		b.Add(1_700_000_000_000, nil, []byte("v"))
		all = b.Build(all)
	}
	return all
}

// FuzzFollow: whatever a leader answers, the replica that follows it keeps its
// start, high watermark and end in order and its directory in use.
func FuzzFollow(f *testing.F) {
	f.Add(true, copies(0, 3), false, int64(2), int64(0), int64(-1), int32(-1))
	f.Add(false, copies(7, 2), true, int64(9), int64(8), int64(-1), int32(-1))
	f.Add(false, []byte{}, false, int64(0), int64(0), int64(1), int32(0))
	f.Add(false, []byte{}, false, int64(0), int64(5), int64(-1), int32(-1))
	below := batch.NewBuilder(batch.Options{BaseOffset: -1})
	for range 3 {
		below.Add(1_700_000_000_000, nil, []byte("v"))
	}
	f.Add(true, below.Build(nil), false, int64(2), int64(0), int64(-1), int32(-1)) // over a log that begins at 0
	f.Add(false, ofEpoch(2, 7), false, int64(3), int64(0), int64(-1), int32(-1))
	f.Fuzz(func(t *testing.T, empty bool, records []byte, sealed bool, highWatermark, logStart, divergingEnd int64, divergingEpoch int32) {
		if records = records[:min(len(records), 2<<10)]; sealed {
			records = batchtest.Resealed(records)
		}
		disk := vfs.NewMem()
		b := testbed.New(t, disk, "/", 1).Start()
		b.Apply(testbed.Partition(b.AddTopic("t"), 0, testbed.Other, testbed.Self))
		b.Publish()
		p := b.Find("t", 0)
		answer := func(got partitions.FromLeader) {
			at, ok := p.Follower().Stands()
			if !ok {
				t.Fatalf("it does not follow: %+v", p.Status())
			}
			if _, err := p.Follower().Take(at, got); errors.Is(err, partitions.ErrMoved) {
				t.Error(err)
			}
			if s := p.Status(); s.Offline || s.LogStart < 0 || s.LogStart > s.LogEnd || s.HighWatermark > s.LogEnd {
				t.Errorf("after %+v: %+v", got, s)
			}
			if at, _ = p.Follower().Stands(); at.LastEpoch > at.Epoch {
				t.Errorf("the leader of epoch %d gave it a batch of epoch %d", at.Epoch, at.LastEpoch)
			}
			files, _ := disk.ReadDir("/disk0/t-0") // not there before anything is written
			for _, f := range files {
				if f.Name()[0] == '-' {
					t.Errorf("no start will find %s", f.Name())
				}
			}
		}
		if !empty {
			answer(partitions.FromLeader{Records: copies(0, 2), HighWatermark: 1})
		}
		answer(partitions.FromLeader{Records: records, HighWatermark: kafka.Offset(highWatermark), LogStart: kafka.Offset(logStart)})
		if divergingEnd >= 0 { // the fetcher takes no other for a divergence
			answer(partitions.FromLeader{Diverging: &partitions.Divergence{Epoch: kafka.Epoch(divergingEpoch), End: kafka.Offset(divergingEnd)}})
		}
		if at, _ := p.Follower().Stands(); at.End >= 0 && at.End < 1<<62 {
			answer(partitions.FromLeader{Records: copies(at.End, 1), HighWatermark: at.End})
			if end := p.Status().LogEnd; end != at.End+1 {
				t.Errorf("it ends at %d and then at %d", at.End, end)
			}
		}
	})
}
