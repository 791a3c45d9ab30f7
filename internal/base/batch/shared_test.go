package batch

import (
	"errors"
	"testing"
)

func TestSharedRecordsAreThoseOfRecords(t *testing.T) {
	for _, c := range codecs {
		for _, n := range []int{1, 100, 20000} { // the last are more than are looked at as a whole
			b := build(Options{Codec: c, BaseOffset: 5}, n)
			want, i := read(t, b), 0
			var d Decoder
			for r, err := range d.SharedRecords(b) {
				if err != nil || r.Offset != want[i].Offset || string(r.Value) != string(want[i].Value) {
					t.Fatalf("%v: %+v, %v, want %+v", c, r, err, want[i])
				}
				i++
			}
			if i != n {
				t.Errorf("%v: %d records of %d", c, i, n)
			}
		}
	}
}

// Rule: whoever decompresses what clients wrote does so within the memory that all
// share, also where no client waits for it.
func TestSharedRecordsTakeTheirShare(t *testing.T) {
	for _, c := range codecs[1:] {
		b := bomb(c, 4, 10)
		d := NewDecoder(64 << 20)
		for r, err := range d.SharedRecords(b) {
			if err != nil {
				t.Fatal(err)
			}
			if free := largeBudget.free; free > 0 {
				t.Fatalf("%v: %d of the shared bytes are free while 40 MiB are decompressed", c, free)
			}
			if r.OffsetDelta == 2 {
				break
			}
		}
		var err error
		for _, err = range NewDecoder(35 << 20).SharedRecords(b) {
		}
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if largeBudget.free != largeBudget.size || quickBudget.free != quickBudget.size {
		t.Error("a walk kept its share")
	}
}
