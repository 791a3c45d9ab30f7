package batch

import (
	"errors"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

func TestShapesAreThoseOfRecords(t *testing.T) {
	for _, c := range codecs {
		for _, n := range []int{1, 100, 20000} { // the last are more than are looked at as a whole
			b := build(Options{Codec: c, BaseOffset: 5}, n)
			want := read(t, b)
			i := 0
			for r, err := range Shapes(b, 0) {
				if err != nil || r.Offset != want[i].Offset || r.Timestamp != want[i].Timestamp || r.Key != nil || r.Value != nil {
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

func TestShapesOfLargeValuesCostNoMemory(t *testing.T) {
	for _, c := range codecs[1:] {
		b := bomb(c, 4, 10)
		var last kafka.Offset
		n := spent(func() {
			for r, err := range Shapes(b, 0) {
				if err != nil {
					t.Fatal(err)
				}
				if last = r.Offset; last == 2 {
					break
				}
			}
		})
		if n > 16<<20 || last != 2 {
			t.Errorf("%v: %d bytes, the last record is %d", c, n, last)
		}
		var err error
		for _, err = range Shapes(b, 35<<20) {
		}
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if largeBudget.free != largeBudget.size || quickBudget.free != quickBudget.size {
		t.Error("a walk kept its share")
	}
}
