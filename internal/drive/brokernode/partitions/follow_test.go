package partitions_test

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// ofEpoch is a batch of two records as the leader of an epoch sends it.
func ofEpoch(base kafka.Offset, e kafka.Epoch) []byte {
	w := batch.NewBuilder(batch.Options{BaseOffset: base, LeaderEpoch: e})
	w.Add(1_700_000_000_000, nil, []byte("v"))
	w.Add(1_700_000_000_000, nil, []byte("v"))
	return w.Build(nil)
}

// A leader whose answer was under way when it lost its partition may have filled
// it with what it copied from the next one: the follower "ignores records with a
// higher leader epoch" than the one it asked for (KAFKA-18723).
func TestAFollowerTakesNothingOfAnEpochAboveItsOwn(t *testing.T) {
	f := func(logStart kafka.Offset, sent []byte, want kafka.Offset) {
		t.Helper()
		b := newBed(t).Start()
		b.Apply(testbed.Partition(b.AddTopic("t"), 0, testbed.Other, testbed.Self))
		b.Publish()
		follower := b.Find("t", 0).Follower()
		at, _ := follower.Stands()
		if logStart > 0 {
			if err := follower.Misplaced(at, logStart, logStart+9); err != nil {
				t.Fatal(err)
			}
			at, _ = follower.Stands()
		}
		if _, err := follower.Take(at, partitions.FromLeader{Records: sent, HighWatermark: 9}); err != nil {
			t.Error(err)
		}
		after, _ := follower.Stands()
		if after.End != want || after.HighWatermark > want || after.LogStart != logStart || after.LastEpoch > after.Epoch {
			t.Errorf("in epoch %d it holds epoch %d, from %d to %d, high watermark %d; want from %d to %d",
				after.Epoch, after.LastEpoch, after.LogStart, after.End, after.HighWatermark, logStart, want)
		}
	}
	f(0, slices.Concat(ofEpoch(0, 0), ofEpoch(2, 0)), 4)
	f(0, slices.Concat(ofEpoch(0, 0), ofEpoch(2, 7)), 2)
	f(0, ofEpoch(0, 7), 0)
	f(0, slices.Concat(ofEpoch(0, 0), ofEpoch(2, 7), ofEpoch(4, 0)), 2)
	f(1, slices.Concat(ofEpoch(0, 0), ofEpoch(2, 7)), 2) // the leader's log begins within a batch
	f(1, ofEpoch(0, 7), 1)
}
