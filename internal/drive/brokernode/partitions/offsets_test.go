package partitions_test

import (
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// timed is one batch with timestamps 2, 4, 6, 8.
func timed(codec batch.Codec) []byte {
	w := batch.NewBuilder(batch.Options{Codec: codec})
	for _, ts := range []int64{2, 4, 6, 8} {
		w.Add(ts, nil, []byte("value"))
	}
	return w.Build(nil)
}

func TestOffsetsByTime(t *testing.T) {
	b := newBed(t).Start()
	for _, codec := range []batch.Codec{batch.None, batch.Lz4} {
		b.Topic(codec.String(), 1)
		p := b.Find(codec.String(), 0)
		if _, err := p.Append(timed(codec), true); err != nil {
			t.Fatal(err)
		}
		f := func(time int64, offset kafka.Offset, at int64) {
			t.Helper()
			got, err := p.Find(partitions.Consumer, kafka.NoEpoch, time)
			if err != nil || got.Offset != offset || got.Timestamp != at {
				t.Errorf("%v: time %d gives %+v, %v; want offset %d at %d", codec, time, got, err, offset, at)
			}
		}
		f(1, 0, 2)
		f(3, 1, 4)
		f(5, 2, 6)
		f(9, -1, -1)
		f(partitions.LatestTime, 4, -1)
		f(partitions.EarliestTime, 0, -1)
		f(partitions.MaxTime, 3, 8)
		f(partitions.EarliestLocalTime, 0, -1)
		f(partitions.LatestTieredTime, -1, -1)
		if until, err := p.DeleteBefore(2); until != 2 || err != nil {
			t.Fatal(until, err)
		}
		f(partitions.EarliestTime, 2, -1)
		f(3, 2, 6)
		if _, err := p.Find(partitions.Consumer, kafka.NoEpoch, -7); kerr.Of(err) != kerr.UnsupportedVersion {
			t.Errorf("-7: %v", err)
		}
	}
}

func TestDeleteRecords(t *testing.T) {
	b := newBed(t).Start()
	b.Topic("t", 1)
	b.Topic("compacted", 1, "cleanup.policy", "compact")
	p := b.Find("t", 0)
	if _, err := p.Append(records(5), true); err != nil {
		t.Fatal(err)
	}
	f := func(offset, want kafka.Offset, code kerr.Code) {
		t.Helper()
		if got, err := p.DeleteBefore(offset); kerr.Of(err) != code || code == kerr.None && got != want {
			t.Errorf("before %d: %d, %v", offset, got, err)
		}
	}
	f(6, 0, kerr.OffsetOutOfRange)
	f(-2, 0, kerr.OffsetOutOfRange)
	f(3, 3, kerr.None)
	f(1, 1, kerr.None) // it is deleted already
	if low, err := p.LowWatermark(); low != 3 || err != nil {
		t.Errorf("low watermark %d, %v", low, err)
	}
	f(-1, 5, kerr.None) // the high watermark
	if s := p.Status(); s.LogStart != 5 {
		t.Errorf("%+v", s)
	}
	if _, err := b.Find("compacted", 0).DeleteBefore(0); kerr.Of(err) != kerr.PolicyViolation {
		t.Errorf("compacted: %v", err)
	}
}

func TestEpochEnds(t *testing.T) {
	b := newBed(t).Start()
	id := b.Topic("t", 1)
	p := b.Find("t", 0)
	if _, err := p.Append(records(5), true); err != nil {
		t.Fatal(err)
	}
	elect(b, id, 2)
	elect(b, id, 1)
	f := func(asked, epoch kafka.Epoch, end kafka.Offset) {
		t.Helper()
		e, o, err := p.EpochEnd(kafka.NoEpoch, asked)
		if err != nil || e != epoch || o != end {
			t.Errorf("epoch %d ends as %d at %d, %v; want %d at %d", asked, e, o, err, epoch, end)
		}
	}
	f(0, 0, 5)
	f(1, 0, 5)
	f(2, 2, 5)
	f(3, kafka.NoEpoch, kafka.NoOffset)
}
