package metrics

import (
	"math"
	"testing"
	"time"
)

// Rule: every value lies in one bucket, buckets have no gaps, and none is wider
// than a quarter of its values.
func TestBucketsAreCompleteAndNarrow(t *testing.T) {
	for i := range buckets - 1 {
		low, next := lowest(i), lowest(i+1)
		if bucketOf(low) != i || bucketOf(next-1) != i {
			t.Errorf("bucket %d is said to hold %d to %d, but those are in %d and %d", i, low, next-1, bucketOf(low), bucketOf(next-1))
		}
		if width := next - low; low >= 4 && width*4 > low {
			t.Errorf("bucket %d holds %d to %d", i, low, next-1)
		}
	}
	if got := bucketOf(math.MaxUint64); got != buckets-1 {
		t.Errorf("the largest value is in bucket %d of %d", got, buckets)
	}
}

// Rule: a quantile is right within an eighth, and count and sum are exact.
func TestQuantiles(t *testing.T) {
	var d Distribution
	for v := range uint64(10_000) {
		d.Observe(v)
	}
	got := d.look(time.Unix(0, 0), []float64{0.5, 0.99})
	if got.count != 10_000 || got.sum != 10_000*9_999/2 {
		t.Errorf("count %d, sum %d", got.count, got.sum)
	}
	for i, want := range []float64{5_000, 9_900} {
		if math.Abs(got.quantiles[i]-want) > want/8 {
			t.Errorf("quantile %d is %g, want about %g", i, got.quantiles[i], want)
		}
	}
}

// Rule: quantiles tell of the last minute or two, so that a bad hour does not
// colour the rest of the day; counts go on.
func TestQuantilesForget(t *testing.T) {
	var d Distribution
	median := func(minute int) float64 {
		return d.look(time.Unix(int64(60*minute), 0), []float64{0.5}).quantiles[0]
	}
	d.Observe(1_000_000)
	if got := median(0); got < 800_000 {
		t.Fatalf("at first %g", got)
	}
	d.Observe(3)
	if got := median(1); got < 3 {
		t.Fatalf("the first minute was not forgotten yet: %g", got)
	}
	d.Observe(3)
	if got := median(2); got != 3 {
		t.Errorf("after two minutes %g", got)
	}
	if got := median(10); got != 3 && got != 0 {
		t.Errorf("later %g", got)
	}
	if got := d.look(time.Unix(3600, 0), nil).count; got != 3 {
		t.Errorf("count %d", got)
	}
}

func BenchmarkTiming(b *testing.B) {
	var t Timing
	b.ReportAllocs()
	for b.Loop() {
		t.Saw(250 * time.Microsecond)
	}
}
