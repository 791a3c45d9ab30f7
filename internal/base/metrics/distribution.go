package metrics

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// Buckets are linear up to 4 and then have 4 steps for each power of two, so a
// quantile is right within an eighth. The last one holds all from 2^28 on: four
// minutes in microseconds, or 256 MiB.
const (
	stepsLog2 = 2
	maxLog2   = 28
	buckets   = (maxLog2-stepsLog2+1)<<stepsLog2 + 1
)

// Quantiles look back over a window that begins between windowMin and
// 2*windowMin ago, if somebody looks as often as that; else at the look before.
const windowMin = time.Minute

// Distribution counts values by their size. Observing costs two atomic adds and
// neither lock nor memory. It keeps a memory of earlier looks only once there
// was one. The zero value is ready.
type Distribution struct {
	sum    atomic.Uint64
	counts [buckets]atomic.Uint64

	mu       sync.Mutex // of those who look
	past     *looked    // where the window begins; nil: at zero
	previous *looked    // becomes past when it is old enough
}

// looked is what the buckets held at a look.
type looked struct {
	at     time.Time
	counts [buckets]uint64
}

// Observe counts one value.
func (d *Distribution) Observe(v uint64) {
	d.counts[bucketOf(v)].Add(1)
	d.sum.Add(v)
}

func bucketOf(v uint64) int {
	if v < 1<<stepsLog2 {
		return int(v)
	}
	log2 := bits.Len64(v) - 1
	if log2 >= maxLog2 {
		return buckets - 1
	}
	return (log2-stepsLog2+1)<<stepsLog2 + int(v>>(log2-stepsLog2))&(1<<stepsLog2-1)
}

// lowest is the smallest value of a bucket.
func lowest(bucket int) uint64 {
	if bucket < 1<<stepsLog2 {
		return uint64(bucket)
	}
	log2 := bucket>>stepsLog2 - 1 + stepsLog2
	return uint64(1<<stepsLog2+bucket&(1<<stepsLog2-1)) << (log2 - stepsLog2)
}

// view is what a look shows: everything so far, and quantiles of the window.
type view struct {
	count, sum uint64
	quantiles  []float64 // in the order asked for; 0 while the window is empty
}

// look reads the distribution for one who looks now.
func (d *Distribution) look(now time.Time, quantiles []float64) view {
	d.mu.Lock()
	defer d.mu.Unlock()
	seen := &looked{at: now}
	v := view{sum: d.sum.Load(), quantiles: make([]float64, len(quantiles))}
	window, total := seen.counts, uint64(0)
	for i := range d.counts {
		n := d.counts[i].Load()
		seen.counts[i], window[i] = n, n
		v.count += n
		if d.past != nil {
			window[i] -= d.past.counts[i]
		}
		total += window[i]
	}
	for i, q := range quantiles {
		v.quantiles[i] = quantile(&window, total, q)
	}
	switch {
	case d.previous == nil:
		d.previous = seen
	case now.Sub(d.previous.at) >= windowMin:
		d.past, d.previous = d.previous, seen
	}
	return v
}

// quantile finds where a share q of all values lies below, taking those of a
// bucket as spread evenly.
func quantile(window *[buckets]uint64, total uint64, q float64) float64 {
	left := q * float64(total)
	for i, n := range window {
		if n == 0 {
			continue
		}
		if left <= float64(n) {
			low := float64(lowest(i))
			if i < 1<<stepsLog2 || i == buckets-1 {
				return low
			}
			return low + (float64(lowest(i+1))-low)*left/float64(n)
		}
		left -= float64(n)
	}
	return 0
}
