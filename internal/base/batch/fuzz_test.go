package batch

import (
	"bytes"
	"testing"
)

func seeds(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(unhex(f, g.BatchHex))
	}
}

func FuzzHeaders(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
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
		for range d.Records(b) {
		}
	})
}

// What validation lets through must be one batch that reads back whole.
func FuzzValidateProduce(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
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

func fuzzCodec(f *testing.F, c Codec) {
	f.Add(c.Compress(nil, []byte("seed seed seed"), DefaultLevel))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
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
