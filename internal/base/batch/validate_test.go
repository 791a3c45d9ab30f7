package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/ottla/ottla/internal/base/kerr"
)

var plain = Policy{MaxBytes: 1 << 20, Now: 1000, BeforeMax: math.MaxInt64, AfterMax: 3600000}

// changed is a good batch after a change, with its checksum written again.
func changed(change func(b []byte)) []byte {
	b := build(Options{}, 3)
	change(b)
	seal(b)
	return b
}

// trailing is a batch whose length covers a byte after its records.
func trailing() []byte {
	b := append(build(Options{}, 3), 0)
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-Overhead))
	seal(b)
	return b
}

func TestRefusals(t *testing.T) {
	f := func(rule string, b []byte, p Policy, want kerr.Code) {
		t.Helper()
		_, err := ValidateProduce(b, p)
		if got := kerr.Of(err); got != want {
			t.Errorf("%s: %v, want %v", rule, err, want)
		}
		if m := kerr.Message(err); err != nil && (m == nil || *m == "") {
			t.Errorf("%s: no message", rule)
		}
	}
	good := func() []byte { return build(Options{}, 3) }
	set := func(at int, v ...byte) []byte { return changed(func(b []byte) { copy(b[at:], v) }) }
	f("a good batch", good(), plain, kerr.None)
	f("missing records", nil, plain, kerr.InvalidRecord)
	f("exactly one batch", append(good(), good()...), plain, kerr.InvalidRecord)
	f("only magic 2", set(atMagic, 1), plain, kerr.InvalidRecord)
	f("old and short", set(atMagic, 0)[:30], plain, kerr.InvalidRecord)
	f("truncated", good()[:100], plain, kerr.CorruptMessage)
	f("truncated header", good()[:20], plain, kerr.CorruptMessage)
	f("max.message.bytes", good(), Policy{MaxBytes: 100}, kerr.MessageTooLarge)
	wrong := good()
	wrong[len(wrong)-1]++
	f("checksum", wrong, plain, kerr.CorruptMessage)
	f("base offset", build(Options{BaseOffset: 1}, 1), plain, kerr.InvalidRecord)
	f("count is last delta + 1", set(atCount, 0, 0, 0, 2), plain, kerr.InvalidRecord)
	f("count > 0", set(atCount, 0, 0, 0, 0), plain, kerr.InvalidRecord)
	f("no control from clients", build(Options{Control: true}, 1), plain, kerr.InvalidRecord)
	f("producer without sequence", build(Options{Producer: &Producer{ID: 1, Sequence: -1}}, 1), plain, kerr.InvalidRecord)
	f("log append time is the broker's", set(atAttributes, 0, bitLogAppendTime), plain, kerr.InvalidTimestamp)
	f("delete horizon is the cleaner's", set(atAttributes, 0, bitDeleteHorizon), plain, kerr.InvalidRecord)
	f("codec 5", set(atAttributes, 0, 5), plain, kerr.InvalidRecord)
	f("not gzip at all", set(atAttributes, 0, byte(Gzip)), plain, kerr.InvalidRecord)
	f("zstd of an old client", build(Options{Codec: Zstd}, 1), Policy{NoZstd: true, AfterMax: 9999}, kerr.UnsupportedCompressionType)
	f("bytes after the records", trailing(), plain, kerr.InvalidRecord)
	f("malformed record", set(HeaderSize, 0xff, 0xff), plain, kerr.InvalidRecord)
	f("too far ahead", good(), Policy{Now: 500, AfterMax: 501, BeforeMax: 1}, kerr.InvalidTimestamp)
	f("just not too far ahead", good(), Policy{Now: 500, AfterMax: 502, BeforeMax: 1}, kerr.None)
	f("too old", good(), Policy{Now: 1011, BeforeMax: 10}, kerr.InvalidTimestamp)
	f("just not too old", good(), Policy{Now: 1010, BeforeMax: 10}, kerr.None)
	f("log append time takes all", good(), Policy{Now: 5, LogAppendTime: true}, kerr.None)
	f("decompressed size", build(Options{Codec: Gzip}, 100), Policy{MaxDecompressed: 1000, AfterMax: 9999}, kerr.MessageTooLarge)
}

func TestNoTimestampIsLegal(t *testing.T) {
	w := NewBuilder(Options{})
	w.Add(NoTimestamp, nil, nil)
	got, err := ValidateProduce(w.Build(nil), Policy{Now: 1e12, BeforeMax: 1, AfterMax: 1})
	if err != nil || got.Header.MaxTimestamp != NoTimestamp {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCompactedTopicsNeedKeys(t *testing.T) {
	w := NewBuilder(Options{})
	w.Add(1, []byte("k"), nil)
	w.Add(1, nil, []byte("v"))
	w.Add(math.MaxInt64/2, nil, []byte("v"))
	p := plain
	p.Compacted = true
	_, err := ValidateProduce(w.Build(nil), p)
	var e *RecordsError
	if !errors.As(err, &e) || kerr.Of(err) != kerr.InvalidRecord {
		t.Fatal(err)
	}
	if len(e.Problems) != 3 || e.Problems[0].Index != 1 || e.Problems[2].Index != 2 {
		t.Errorf("problems %+v", e.Problems)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	w := NewBuilder(Options{})
	for range 1000 {
		w.Add(1, nil, nil)
	}
	p := plain
	p.Compacted = true
	_, err := ValidateProduce(w.Build(nil), p)
	var e *RecordsError
	if !errors.As(err, &e) || len(e.Problems) != maxProblems {
		t.Errorf("%v", err)
	}
}

func TestBytesAreKept(t *testing.T) {
	for _, c := range codecs {
		b := build(Options{Codec: c, Producer: &Producer{5, 1, 0}, Transactional: true}, 10)
		want := bytes.Clone(b)
		got, err := ValidateProduce(b, plain)
		if err != nil || got.Rebuilt || !bytes.Equal(got.Batch, want) || &got.Batch[0] != &b[0] {
			t.Errorf("%v: rebuilt %v, %v", c, got.Rebuilt, err)
		}
		if got.MaxOffsetDelta != 9 || got.Header.MaxTimestamp != 1009 {
			t.Errorf("%v: %+v", c, got)
		}
	}
}

func TestMaxTimestampIsTheRecords(t *testing.T) {
	b := changed(func(b []byte) { binary.BigEndian.PutUint64(b[atMaxTimestamp:], 77) })
	got, err := ValidateProduce(b, plain)
	if err != nil || got.Header.MaxTimestamp != 1002 || !CheckCRC(got.Batch) {
		t.Errorf("%+v, %v", got.Header, err)
	}
}

func TestLogAppendTime(t *testing.T) {
	p := plain
	p.LogAppendTime, p.Now = true, 123456
	for _, c := range codecs {
		got, err := ValidateProduce(build(Options{Codec: c}, 4), p)
		if err != nil || !got.Header.LogAppendTime() || got.Header.MaxTimestamp != 123456 || !CheckCRC(got.Batch) {
			t.Errorf("%v: %+v, %v", c, got.Header, err)
		}
	}
}

func TestRecompression(t *testing.T) {
	for _, from := range codecs {
		for _, to := range codecs {
			p := plain
			p.Recompress, p.Codec = true, to
			b := build(Options{Codec: from, Producer: &Producer{5, 1, 9}}, 50)
			want := read(t, b)
			got, err := ValidateProduce(b, p)
			if err != nil {
				t.Errorf("%v to %v: %v", from, to, err)
				continue
			}
			h := got.Header
			if h.Codec() != to || got.Rebuilt != (from != to) || h.ProducerID != 5 || h.BaseSequence != 9 || !CheckCRC(got.Batch) {
				t.Errorf("%v to %v: %+v", from, to, h)
			}
			if have := read(t, got.Batch); len(have) != len(want) || have[49].Timestamp != want[49].Timestamp || have[49].Headers[0].Key != "h" {
				t.Errorf("%v to %v: records differ", from, to)
			}
		}
	}
}

func TestRecompressedSizeIsCheckedAgain(t *testing.T) {
	b := build(Options{Codec: Gzip}, 50)
	_, err := ValidateProduce(b, Policy{MaxBytes: len(b), AfterMax: 9999, Recompress: true, Codec: None})
	if kerr.Of(err) != kerr.MessageTooLarge {
		t.Error(err)
	}
}

// A batch whose offset deltas do not count 0, 1, 2 is rebuilt when compressed
// and refused when not; it is never stored.
func TestOffsetDeltasCount(t *testing.T) {
	gaps := func(c Codec) []byte {
		w := NewBuilder(Options{Codec: c})
		w.AddAt(0, 1, nil, nil, nil)
		w.AddAt(0, 1, nil, nil, nil)
		w.SetLastOffsetDelta(1)
		return w.Build(nil)
	}
	got, err := ValidateProduce(gaps(Gzip), plain)
	if err != nil || !got.Rebuilt {
		t.Fatalf("%+v, %v", got, err)
	}
	if r := read(t, got.Batch); r[0].OffsetDelta != 0 || r[1].OffsetDelta != 1 {
		t.Errorf("%+v", r)
	}
	if _, err := ValidateProduce(gaps(None), plain); kerr.Of(err) != kerr.InvalidRecord {
		t.Error(err)
	}
}

func TestValidationAllocatesNothing(t *testing.T) {
	b := build(Options{}, 100)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := ValidateProduce(b, plain); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
