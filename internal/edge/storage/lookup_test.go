package storage

import (
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

func TestOffsetsByTime(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config.IndexIntervalBytes, o.Config.SegmentBytes = 0, 400 })
	// Batches of two records at t and t+1; time goes back once.
	for i, at := range []int64{100, 200, 150, 300, 400, 500, 450, 600} {
		_, err := r.AppendLeader(records("a", 2, at, batch.Options{}), kafka.Epoch(i/4))
		must(t, err)
	}
	r.append(records("none", 1, -1, batch.Options{}))
	f := func(ts int64, below, offset kafka.Offset, found int64, epoch kafka.Epoch) {
		t.Helper()
		got, ok, err := r.OffsetForTimestamp(ts, below)
		must(t, err)
		if !ok && offset != kafka.NoOffset || ok && got != (TimeOffset{offset, found, epoch}) {
			t.Errorf("time %d below %d: %+v %v, want offset %d time %d epoch %d", ts, below, got, ok, offset, found, epoch)
		}
	}
	for range 2 {
		f(0, 17, 0, 100, 0)
		f(101, 17, 1, 101, 0)
		f(102, 17, 2, 200, 0) // the first in the order of offsets
		f(201, 17, 3, 201, 0)
		f(202, 17, 6, 300, 0)
		f(450, 17, 10, 500, 1)
		f(601, 17, 15, 601, 1)
		f(602, 17, kafka.NoOffset, 0, 0)
		f(601, 15, kafka.NoOffset, 0, 0) // not below the bound
		f(601, 16, 15, 601, 1)
		got, ok, err := r.MaxTimestampOffset()
		must(t, err)
		if !ok || got != (TimeOffset{15, 601, 1}) {
			t.Errorf("the largest time is at %+v %v", got, ok)
		}
		r.reopen(true)
	}
	must(t, r.SetStart(5))
	f(0, 17, 5, 151, 0)
}

func TestNoRecordHasATime(t *testing.T) {
	r := newRig(t)
	if _, ok, err := r.MaxTimestampOffset(); ok || err != nil {
		t.Errorf("an empty log has a largest time: %v %v", ok, err)
	}
	r.append(records("none", 1, -1, batch.Options{}))
	if _, ok, err := r.OffsetForTimestamp(0, 1); ok || err != nil {
		t.Errorf("a record without time was found: %v %v", ok, err)
	}
}

func TestLogAppendTimeCountsForEveryRecord(t *testing.T) {
	r := newRig(t)
	at := int64(5000)
	r.append(records("a", 3, 100, batch.Options{AppendTime: &at}))
	got, ok, err := r.OffsetForTimestamp(4000, 3)
	must(t, err)
	if !ok || got.Offset != 0 || got.Timestamp != 5000 {
		t.Errorf("found %+v %v, want offset 0 at 5000", got, ok)
	}
}

func TestEpochEnds(t *testing.T) {
	r := newRig(t)
	for _, s := range []struct {
		epoch kafka.Epoch
		n     int
	}{{2, 3}, {5, 1}, {7, 0}, {8, 2}} {
		must(t, r.BecomeLeader(s.epoch))
		if s.n > 0 {
			_, err := r.AppendLeader(plain("a", s.n), s.epoch)
			must(t, err)
		}
	}
	f := func(asked, epoch kafka.Epoch, end kafka.Offset) {
		t.Helper()
		if e, o := r.EpochEnd(asked); e != epoch || o != end {
			t.Errorf("epoch %d ends at (%d, %d), want (%d, %d)", asked, e, o, epoch, end)
		}
	}
	f(8, 8, 6)
	f(9, kafka.NoEpoch, kafka.NoOffset) // newer than all
	f(1, 1, 0)                          // older than all: where the first begins
	f(2, 2, 3)
	f(3, 2, 3)
	f(5, 5, 4)
	f(7, 5, 4) // an epoch without records gives way to the next at the same offset
	f(-1, kafka.NoEpoch, kafka.NoOffset)
	for o, want := range map[kafka.Offset]kafka.Epoch{0: 2, 2: 2, 3: 5, 4: 8, 5: 8} {
		if got := r.EpochAt(o); got != want {
			t.Errorf("epoch at %d is %d, want %d", o, got, want)
		}
	}
}
