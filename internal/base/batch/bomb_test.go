package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/ottla/ottla/internal/base/kerr"
)

// pieces compresses what comes in pieces; all codecs read such pieces as one.
type pieces struct {
	c   Codec
	out []byte
}

func (p *pieces) add(b []byte) {
	at := len(p.out)
	p.out = p.c.Compress(p.out, b, DefaultLevel)
	if p.c == Snappy && at > 0 {
		p.out = append(p.out[:at], p.out[at+len(xerialHeader):]...)
	}
}

// bomb is a batch of records with values of valueMiB zeros each.
func bomb(c Codec, records, valueMiB int) []byte {
	zeros := pieces{c: c}
	zeros.add(make([]byte, 1<<20))
	repeat := zeros.out
	if c == Snappy {
		repeat = repeat[len(xerialHeader):]
	}
	p := pieces{c: c}
	size := valueMiB << 20
	for i := range int32(records) {
		head := binary.AppendVarint(nil, int64(recordSize(i, 0, nil, nil, nil)-1+varintSize(int64(size))+size))
		head = binary.AppendVarint(append(head, 0, 0), int64(i))
		p.add(binary.AppendVarint(append(head, 1), int64(size)))
		p.out = append(p.out, bytes.Repeat(repeat, valueMiB)...)
		p.add([]byte{0})
	}
	return packed(c, records, p.out)
}

// packed is a batch around a compressed body.
func packed(c Codec, records int, body []byte) []byte {
	b := append(build(Options{Codec: c}, 1)[:HeaderSize], body...)
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-Overhead))
	binary.BigEndian.PutUint32(b[atLastDelta:], uint32(records-1))
	binary.BigEndian.PutUint32(b[atCount:], uint32(records))
	seal(b)
	return b
}

var anySize = Policy{BeforeMax: math.MaxInt64, AfterMax: math.MaxInt64}

// spent is how many bytes f allocates.
func spent(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// A value is passed over while it is decompressed: what a batch costs does not
// grow with it, whether it is taken or refused.
func TestLargeValuesCostNoMemory(t *testing.T) {
	f := func(c Codec, records, valueMiB int, want kerr.Code) {
		t.Helper()
		b := bomb(c, records, valueMiB)
		var err error
		if n := spent(func() { _, err = ValidateProduce(b, anySize) }); n > 16<<20 {
			t.Errorf("%v: %d values of %d MiB cost %d bytes", c, records, valueMiB, n)
		}
		if kerr.Of(err) != want {
			t.Errorf("%v: %d values of %d MiB: %v, want %v", c, records, valueMiB, err, want)
		}
	}
	for _, c := range codecs[1:] {
		f(c, 1, 477, kerr.MessageTooLarge)
		f(c, 50, 10, kerr.MessageTooLarge)
		f(c, 1, 40, kerr.None)
		f(c, 4, 10, kerr.None)
	}
}

func TestManyBombsAtOnce(t *testing.T) {
	p := anySize
	p.MaxDecompressed = 16 << 20
	for _, c := range codecs[1:] {
		b := bomb(c, 50, 10)
		n := spent(func() {
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					if _, err := ValidateProduce(b, p); kerr.Of(err) != kerr.MessageTooLarge {
						t.Errorf("%v: %v", c, err)
					}
				})
			}
			all.Wait()
		})
		if n > 16*5<<20 {
			t.Errorf("%v: 16 bombs cost %d bytes", c, n)
		}
	}
}

// zstdFrame is one frame that asks its reader for a window.
func zstdFrame(t *testing.T, window int, body []byte) []byte {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for len(body) > 0 {
		n := min(len(body), 1<<20)
		if _, err := w.Write(body[:n]); err != nil {
			t.Fatal(err)
		}
		body = body[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Java's level 22 asks for 128 MiB. Such batches are taken; what is small when
// decompressed needs no window.
func TestWideWindowsOfZstd(t *testing.T) {
	f := func(windowMiB, valueMiB, most int, want kerr.Code) {
		t.Helper()
		body := appendRecord(nil, 0, 0, nil, make([]byte, valueMiB<<20), nil)
		b := packed(Zstd, 1, zstdFrame(t, windowMiB<<20, body))
		var err error
		if n := spent(func() { _, err = ValidateProduce(b, anySize) }); n > most {
			t.Errorf("%d MiB with a window of %d MiB cost %d bytes", valueMiB, windowMiB, n)
		}
		if kerr.Of(err) != want {
			t.Errorf("%d MiB with a window of %d MiB: %v, want %v", valueMiB, windowMiB, err, want)
		}
	}
	f(8, 40, 16<<20, kerr.None)
	f(8, 140, 16<<20, kerr.MessageTooLarge)
	f(128, 0, 4<<20, kerr.None)
	f(128, 20, 140<<20, kerr.None)
	f(128, 140, 140<<20, kerr.MessageTooLarge)
	if n := largeBudget.free; n != largeBudget.size {
		t.Errorf("%d of %d bytes are free afterwards", n, largeBudget.size)
	}
}

func TestSmallBatchesReuseTheirBuffers(t *testing.T) {
	for _, c := range codecs {
		b := build(Options{Codec: c}, 1000)
		n := testing.AllocsPerRun(50, func() {
			if _, err := ValidateProduce(b, plain); err != nil {
				t.Fatal(err)
			}
		})
		if n > 20 { // pools may be emptied meanwhile; the batch has 1000 records
			t.Errorf("%v: %v allocations", c, n)
		}
	}
}

// Java's frames do not say how much they hold.
func TestZstdOfUnknownSize(t *testing.T) {
	body := bytes.Repeat([]byte("some text, more text, "), 40000)
	frame := zstdFrame(t, 2<<20, body)
	for _, limit := range []int{len(body), len(body) + 1, DefaultLimit} {
		if out, err := Zstd.Decompress(nil, frame, limit); err != nil || !bytes.Equal(out, body) {
			t.Errorf("limit %d: %d bytes, %v", limit, len(out), err)
		}
	}
	if _, err := Zstd.Decompress(nil, frame, len(body)-1); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	frame[len(frame)/2] ^= 0x55
	if _, err := Zstd.Decompress(nil, frame, DefaultLimit); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

func TestNothingLargeIsKept(t *testing.T) {
	for _, c := range codecs[1:] {
		p := anySize
		p.Recompress, p.Codec = true, codecs[1+int(c)%4]
		got, err := ValidateProduce(bomb(c, 2, 20), p)
		if err != nil || got.Header.Codec() != p.Codec || got.Header.Count != 2 {
			t.Errorf("%v to %v: %+v, %v", c, p.Codec, got.Header, err)
		}
		if d := decoders.Get().(*Decoder); cap(d.scratch) > keptScratch {
			t.Errorf("%v: a buffer of %d bytes was kept", c, cap(d.scratch))
		}
	}
}

// What is rebuilt without a codec is refused before it is there.
func TestUncompressedSizeIsKnownBefore(t *testing.T) {
	b := bomb(Gzip, 1, 100)
	p := anySize
	p.MaxBytes, p.Recompress = 1<<20, true
	var err error
	if n := spent(func() { _, err = ValidateProduce(b, p) }); n > 8<<20 || kerr.Of(err) != kerr.MessageTooLarge {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// Blocks of lz4's legacy format are 8 MiB large; Kafka does not read them either.
func TestLegacyLz4IsRefused(t *testing.T) {
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	if err := w.Apply(lz4.LegacyOption(true)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(appendRecord(nil, 0, 0, nil, nil, nil)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ValidateProduce(packed(Lz4, 1, out.Bytes()), anySize); kerr.Of(err) != kerr.InvalidRecord {
		t.Error(err)
	}
}

// Frames with everything that may stand between blocks, and of every block size.
func TestLz4BlockSizes(t *testing.T) {
	body := appendRecord(nil, 0, 0, nil, bytes.Repeat([]byte("0123456789abcdef"), 300<<10), nil)
	for _, size := range []lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb, lz4.Block4Mb} {
		var out bytes.Buffer
		w := lz4.NewWriter(&out)
		err := w.Apply(lz4.BlockSizeOption(size), lz4.BlockChecksumOption(true), lz4.ChecksumOption(true), lz4.SizeOption(uint64(len(body))))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if n, err := lz4Needs(append(out.Bytes(), Lz4.Compress(nil, body, 0)...)); n != 2*int(size)+256<<10 || err != nil {
			t.Errorf("%v: needs %d, %v", size, n, err)
		}
		if _, err := ValidateProduce(packed(Lz4, 1, out.Bytes()), anySize); err != nil {
			t.Errorf("%v: %v", size, err)
		}
	}
}
