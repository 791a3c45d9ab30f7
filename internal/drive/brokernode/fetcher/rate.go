package fetcher

import (
	"math"
	"sync"
	"time"
)

// rateEvery is how often a rate moves towards what was seen meanwhile, rateOver about
// how far back it looks.
const (
	rateEvery = 5 * time.Second
	rateOver  = time.Minute
)

// rate is how many things happen in a second, over the last minute: a mean in which
// what is older weighs less, as Kafka's one-minute rates are.
type rate struct {
	mu    sync.Mutex
	since time.Time // the end of what value covers
	seen  int       // since then
	value float64
	begun bool // value is one
}

func (r *rate) mark(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(now)
	r.seen++
}

// perSecond is the rate. It is 0 for the first five seconds.
func (r *rate) perSecond(now time.Time) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(now)
	return r.value
}

// settle takes what has been seen into the value. mu is held.
func (r *rate) settle(now time.Time) {
	if r.since.IsZero() {
		r.since = now
	}
	passed := now.Sub(r.since) / rateEvery
	if passed <= 0 {
		return
	}
	r.since = r.since.Add(passed * rateEvery)
	was := float64(r.seen) / rateEvery.Seconds()
	r.seen = 0
	keep := math.Exp(-float64(rateEvery) / float64(rateOver))
	if !r.begun {
		r.begun, r.value = true, was
	} else {
		r.value = was + (r.value-was)*keep
	}
	r.value *= math.Pow(keep, float64(passed-1)) // nothing was seen in the rest of them
}
