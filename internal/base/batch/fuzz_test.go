package batch

import (
	"bytes"
	"testing"

	"github.com/ottla/ottla/internal/base/kerr"
)

// fuzzBytes bounds what one execution looks at: enough for every structure a
// batch has, and little enough for a million executions.
const fuzzBytes = 4 << 10

// bounded cuts an input to fuzzBytes, so that a large one is no empty execution.
func bounded(b []byte) []byte { return b[:min(len(b), fuzzBytes)] }

func seeds(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(unhex(f, g.BatchHex))
	}
}

func FuzzHeaders(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bounded(b)
		total := 0
		for h, whole := range All(b) {
			if h.Size() != len(whole) || h.Size() < HeaderSize {
				t.Fatalf("%d bytes for %+v", len(whole), h)
			}
			total += len(whole)
		}
		if total > len(b) {
			t.Fatalf("%d bytes out of %d", total, len(b))
		}
	})
}

func FuzzRecords(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		d := NewDecoder(1 << 20)
		for range d.Records(bounded(b)) {
		}
	})
}

// What validation lets through must be one batch that reads back whole.
func FuzzValidateProduce(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(bounded(b))
		if len(b) >= HeaderSize {
			SetBaseOffset(b, 0)
			seal(b)
		}
		got, err := ValidateProduce(b, Policy{LogAppendTime: true, MaxDecompressed: 1 << 20, Recompress: true, Codec: Lz4})
		if err != nil {
			return
		}
		n := int32(0)
		for r, err := range NewDecoder(2 << 20).Records(got.Batch) {
			if err != nil || r.OffsetDelta != n {
				t.Fatalf("record %d: %+v, %v", n, r, err)
			}
			n++
		}
		if n != got.Header.Count || !CheckCRC(got.Batch) {
			t.Fatalf("%d records, header %+v", n, got.Header)
		}
	})
}

// Message sets of formats 0 and 1, and formats that do not exist, are refused for
// what they are, whatever follows, and nobody walks their bytes as records.
func FuzzOtherFormats(f *testing.F) {
	for _, g := range goldens(f)[:4] {
		f.Add(byte(0), unhex(f, g.BatchHex))
		f.Add(byte(1), unhex(f, g.BatchHex))
	}
	f.Fuzz(func(t *testing.T, magic byte, b []byte) {
		if b = bytes.Clone(bounded(b)); len(b) <= atMagic {
			return
		}
		if magic == Magic {
			magic = 0
		}
		b[atMagic] = magic
		if len(b) >= HeaderSize {
			seal(b)
		}
		if _, err := ValidateProduce(b, Policy{MaxBytes: 1 << 20}); kerr.Of(err) != kerr.InvalidRecord {
			t.Errorf("format %d: %v", magic, err)
		}
		for range All(b) {
			t.Errorf("format %d is walked as a batch", magic)
		}
		for _, err := range NewDecoder(1 << 20).Records(b) {
			if err == nil {
				t.Errorf("format %d gives a record", magic)
			}
		}
	})
}

// FuzzShapes: the walk in little memory sees the records that the decoder sees.
func FuzzShapes(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bounded(b)
		var want []Record
		var wantErr error
		for r, err := range NewDecoder(1 << 20).Records(b) {
			if wantErr = err; err == nil {
				want = append(want, r)
			}
		}
		n := 0
		var gotErr error
		for r, err := range Shapes(b, 1<<20) {
			if gotErr = err; err != nil {
				break
			}
			// A walk that streams sees records before what is wrong behind them.
			if wantErr == nil && (n >= len(want) || r.Offset != want[n].Offset || r.Timestamp != want[n].Timestamp) {
				t.Fatalf("record %d: %+v of %+v", n, r, want)
			}
			n++
		}
		if (gotErr == nil) != (wantErr == nil) || gotErr == nil && n != len(want) {
			t.Fatalf("%d records, %v; want %d, %v", n, gotErr, len(want), wantErr)
		}
	})
}

func fuzzCodec(f *testing.F, c Codec) {
	f.Add(c.Compress(nil, []byte("seed seed seed"), DefaultLevel))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bounded(b)
		const limit = 1 << 20
		out, err := c.Decompress([]byte("p"), b, limit)
		if len(out) > limit+1 || !bytes.HasPrefix(out, []byte("p")) || err != nil && len(out) != 1 {
			t.Fatalf("%d bytes, %v", len(out), err)
		}
		again, err := c.Decompress(nil, c.Compress(nil, b, DefaultLevel), len(b))
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("round trip: %v", err)
		}
	})
}

func FuzzGzip(f *testing.F)   { fuzzCodec(f, Gzip) }
func FuzzSnappy(f *testing.F) { fuzzCodec(f, Snappy) }
func FuzzLz4(f *testing.F)    { fuzzCodec(f, Lz4) }
func FuzzZstd(f *testing.F)   { fuzzCodec(f, Zstd) }
