package batch

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

var codecs = []Codec{None, Gzip, Snappy, Lz4, Zstd}

// build makes a batch of n records with times 1000, 1001 ...
func build(opt Options, n int) []byte {
	w := NewBuilder(opt)
	for i := range n {
		w.Add(1000+int64(i), fmt.Appendf(nil, "key-%d", i), bytes.Repeat([]byte("v"), 100), HeaderKV{"h", nil})
	}
	return w.Build(nil)
}

func read(t testing.TB, b []byte) []Record {
	t.Helper()
	var d Decoder
	var out []Record
	for r, err := range d.Records(b) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func TestRoundTripOfEveryCodec(t *testing.T) {
	want := read(t, build(Options{BaseOffset: 7}, 2000))
	for _, c := range codecs {
		b := build(Options{BaseOffset: 7, Codec: c}, 2000)
		h, err := ParseHeader(b)
		if err != nil || h.Codec() != c || h.Count != 2000 || h.End() != 2007 || !CheckCRC(b) {
			t.Errorf("%v: %+v %v", c, h, err)
		}
		if got := read(t, b); !reflect.DeepEqual(want, got) {
			t.Errorf("%v: records differ", c)
		}
	}
}

func TestLevels(t *testing.T) {
	src := bytes.Repeat([]byte("some text, more text, "), 5000)
	for _, c := range codecs {
		for _, level := range []int{-131072, -1, DefaultLevel, 1, 3, 9, 12, 17, 22, 1000} {
			packed := c.Compress([]byte("before"), src, level)
			out, err := c.Decompress(nil, packed[len("before"):], len(src))
			if err != nil || !bytes.Equal(out, src) {
				t.Errorf("%v level %d: %d bytes, %v", c, level, len(out), err)
			}
		}
	}
}

func TestDecompressionIsBounded(t *testing.T) {
	src := make([]byte, 10<<20)
	for _, c := range codecs {
		packed := c.Compress(nil, src, DefaultLevel)
		out, err := c.Decompress([]byte("x"), packed, len(src)-1)
		if !errors.Is(err, ErrTooLarge) || string(out) != "x" {
			t.Errorf("%v: %d bytes, %v", c, len(out), err)
		}
		if out, err := c.Decompress(nil, packed, len(src)); err != nil || len(out) != len(src) {
			t.Errorf("%v at the limit: %d bytes, %v", c, len(out), err)
		}
	}
}

func TestDamagedFramesAreErrors(t *testing.T) {
	src := bytes.Repeat([]byte("0123456789"), 20000)
	for _, c := range codecs[1:] {
		packed := c.Compress(nil, src, DefaultLevel)
		for _, cut := range []int{0, 1, 7, len(packed) / 2} {
			out, err := c.Decompress(nil, packed[:cut], len(src))
			if err == nil && bytes.Equal(out, src) {
				t.Errorf("%v cut after %d bytes gave everything", c, cut)
			}
		}
		if _, err := c.Decompress(nil, []byte("this is no frame of anything"), len(src)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestGzipMembersAreConcatenated(t *testing.T) {
	two := gzipCompress(gzipCompress(nil, []byte("one "), 0), []byte("two"), 0)
	if out, err := Gzip.Decompress(nil, two, 100); err != nil || string(out) != "one two" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestSnappyWithoutFrames(t *testing.T) {
	raw := appendSnappyBlock(nil, []byte("raw raw raw"))[4:]
	if out, err := Snappy.Decompress(nil, raw, 100); err != nil || string(out) != "raw raw raw" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestWalkStopsAtAPartialBatch(t *testing.T) {
	one, two := build(Options{}, 1), build(Options{BaseOffset: 1}, 2)
	all := append(append([]byte{}, one...), two...)
	f := func(b []byte, want int) {
		t.Helper()
		n := 0
		for h, whole := range All(b) {
			if n++; h.Size() != len(whole) {
				t.Errorf("batch %d has %d bytes, header says %d", n, len(whole), h.Size())
			}
		}
		if n != want {
			t.Errorf("%d batches, want %d", n, want)
		}
	}
	f(all, 2)
	f(all[:len(all)-1], 1)
	f(all[:len(one)+10], 1)
	f(all[:10], 0)
	f(nil, 0)
	bad := bytes.Clone(all)
	bad[len(one)+atMagic] = 1
	f(bad, 1)
}

func TestHeadersThatAreNone(t *testing.T) {
	good := build(Options{}, 1)
	f := func(b []byte, want error) {
		t.Helper()
		if _, err := ParseHeader(b); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	f(good[:HeaderSize-1], ErrShort)
	f(nil, ErrShort)
	set := func(at int, v ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], v)
		return b
	}
	f(set(atMagic, 1), ErrCorrupt)
	f(set(atMagic, 1)[:20], ErrCorrupt)
	f(set(atLength, 0, 0, 0, 48), ErrCorrupt)
	f(set(atLength, 255, 255, 255, 255), ErrCorrupt)
	f(set(atLength, 0x7f, 255, 255, 255), ErrCorrupt)
	f(set(atLastDelta, 255), ErrCorrupt)
}

func TestOffsetAndEpochLeaveTheChecksumAlone(t *testing.T) {
	b := build(Options{}, 3)
	SetBaseOffset(b, 99)
	SetLeaderEpoch(b, 4)
	h, err := ParseHeader(b)
	if err != nil || !CheckCRC(b) || h.BaseOffset != 99 || h.LeaderEpoch != 4 {
		t.Errorf("%+v, %v", h, err)
	}
	SetAppendTime(b, 5555)
	for _, r := range read(t, b) {
		if r.Timestamp != 5555 {
			t.Errorf("record at %d has time %d", r.Offset, r.Timestamp)
		}
	}
	if !CheckCRC(b) {
		t.Error("the checksum was not written again")
	}
	b[len(b)-1]++
	if CheckCRC(b) {
		t.Error("a changed byte went unseen")
	}
}

func TestSequencesWrap(t *testing.T) {
	f := func(first, n, want int32) {
		t.Helper()
		if got := AddSequence(first, n); got != want {
			t.Errorf("%d + %d = %d, want %d", first, n, got, want)
		}
	}
	f(0, 1, 1)
	f(math.MaxInt32, 1, 0)
	f(math.MaxInt32-1, 3, 1)
	h := Header{BaseSequence: math.MaxInt32, LastOffsetDelta: 4}
	if h.LastSequence() != 3 {
		t.Errorf("last sequence %d", h.LastSequence())
	}
	if (Header{BaseSequence: NoSequence, LastOffsetDelta: 4}).LastSequence() != NoSequence {
		t.Error("a batch without sequences has a last one")
	}
}

func TestMalformedRecords(t *testing.T) {
	good := build(Options{}, 2)
	f := func(what string, change func(b []byte) []byte) {
		t.Helper()
		var last error
		for _, err := range new(Decoder).Records(change(bytes.Clone(good))) {
			last = err
		}
		if !errors.Is(last, ErrCorrupt) && !errors.Is(last, ErrShort) {
			t.Errorf("%s: %v", what, last)
		}
	}
	f("length too small", func(b []byte) []byte { b[HeaderSize] -= 2; return b })
	f("length too large", func(b []byte) []byte { b[HeaderSize] = 0xff; return b })
	f("cut short", func(b []byte) []byte { return b[:len(b)-1] })
	f("one record less", func(b []byte) []byte { b[atCount+3] = 1; return b })
	f("one record more", func(b []byte) []byte { b[atCount+3] = 3; return b })
	f("negative count", func(b []byte) []byte { b[atCount] = 0xff; return b })
	f("codec without meaning", func(b []byte) []byte { b[atAttributes+1] = 5; return b })
}

func TestBuilderKeepsOffsetsOfCompaction(t *testing.T) {
	w := NewBuilder(Options{BaseOffset: 10})
	w.AddAt(2, 5, []byte("k"), nil, nil)
	w.AddAt(5, 6, []byte("l"), nil, nil)
	w.SetLastOffsetDelta(9)
	b := w.Build(nil)
	h, _ := ParseHeader(b)
	got := read(t, b)
	if h.End() != 20 || h.Count != 2 || got[0].Offset != 12 || got[1].Offset != 15 {
		t.Errorf("%+v %+v", h, got)
	}
	w.Reset(Options{})
	if out := w.Build(nil); out != nil {
		t.Errorf("an empty builder wrote %x", out)
	}
}

func TestParseCodec(t *testing.T) {
	for _, c := range codecs {
		if got, err := ParseCodec(c.String()); got != c || err != nil {
			t.Errorf("%v: %v, %v", c, got, err)
		}
	}
	if got, err := ParseCodec("uncompressed"); got != None || err != nil {
		t.Errorf("uncompressed: %v, %v", got, err)
	}
	if _, err := ParseCodec("brotli"); err == nil {
		t.Error("brotli is a codec")
	}
}

func TestHeaderWalkAllocatesNothing(t *testing.T) {
	b := bytes.Repeat(build(Options{}, 10), 50)
	var end kafka.Offset
	n := testing.AllocsPerRun(20, func() {
		for h := range All(b) {
			end = h.End()
		}
	})
	if n != 0 || end != 10 {
		t.Errorf("%v allocations, end %d", n, end)
	}
}
