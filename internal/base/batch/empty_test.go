package batch

import "testing"

func TestAnEmptiedBatchKeepsItsRangeAndProducer(t *testing.T) {
	b := build(Options{BaseOffset: 40, LeaderEpoch: 3, Codec: Zstd, Transactional: true, Producer: &Producer{ID: 9, Epoch: 2, Sequence: 5}}, 4)
	h, err := ParseHeader(b)
	if err != nil {
		t.Fatal(err)
	}
	out := AppendEmpty(nil, h)
	got, err := ParseHeader(out)
	if err != nil || !CheckCRC(out) || got.Size() != len(out) {
		t.Fatalf("header %+v, error %v", got, err)
	}
	if got.BaseOffset != 40 || got.End() != h.End() || got.LastSequence() != h.LastSequence() || got.ProducerEpoch != 2 ||
		got.LeaderEpoch != 3 || got.MaxTimestamp != h.MaxTimestamp || !got.Transactional() || got.Codec() != None || got.Count != 0 {
		t.Errorf("of %+v is left %+v", h, got)
	}
	if len(read(t, out)) != 0 {
		t.Error("an emptied batch has records")
	}
}

func TestADeleteHorizonTakesThePlaceOfTheBaseTimestamp(t *testing.T) {
	horizon := int64(9000)
	b := NewBuilder(Options{DeleteHorizon: &horizon})
	b.Add(100, []byte("a"), nil)
	b.Add(9100, []byte("b"), nil)
	out := b.Build(nil)
	h, err := ParseHeader(out)
	if err != nil {
		t.Fatal(err)
	}
	if ms, set := h.DeleteHorizon(); !set || ms != horizon || h.MaxTimestamp != 9100 {
		t.Errorf("horizon %d %v, max timestamp %d", ms, set, h.MaxTimestamp)
	}
	if r := read(t, out); r[0].Timestamp != 100 || r[1].Timestamp != 9100 {
		t.Errorf("timestamps are %d and %d", r[0].Timestamp, r[1].Timestamp)
	}
}
