package partitions_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
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

// Who compares replicas reads from a follower what this one knows to be committed;
// any other consumer is sent to the leader.
func TestAFollowerAnswersWhoComparesReplicas(t *testing.T) {
	b := newBed(t).Start()
	b.Apply(testbed.Partition(b.AddTopic("t"), 0, testbed.Other, testbed.Self))
	b.Publish()
	p := b.Find("t", 0)
	at, _ := p.Follower().Stands()
	if _, err := p.Follower().Take(at, partitions.FromLeader{Records: slices.Concat(ofEpoch(0, 0), ofEpoch(2, 0)), HighWatermark: 2}); err != nil {
		t.Fatal(err)
	}
	want := partitions.Want{CurrentEpoch: kafka.NoEpoch, LastEpoch: kafka.NoEpoch, MaxBytes: 1 << 20}
	if _, err := p.Read(partitions.Consumer, want); kerr.Of(err) != kerr.NotLeaderOrFollower {
		t.Errorf("a consumer: %v", err)
	}
	anybody := partitions.Consumer
	anybody.AnyReplica = true
	d, err := p.Read(anybody, want)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Records.Close()
	got, err := d.Records.AppendTo(nil)
	if err != nil || d.HighWatermark != 2 || !bytes.Equal(got, ofEpoch(0, 0)) {
		t.Errorf("%d bytes below %d, %v", len(got), d.HighWatermark, err)
	}
	want.CurrentEpoch = 9
	if _, err := p.Read(anybody, want); kerr.Of(err) != kerr.UnknownLeaderEpoch {
		t.Errorf("an epoch to come: %v", err)
	}
}
