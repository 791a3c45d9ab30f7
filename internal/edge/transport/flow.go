package transport

import (
	"context"
	"math"
	"sync"
	"time"
)

// flow bounds how many pass in a second, on average; at once it lets through what a
// second may. When more come, an acceptor waits, and new connections queue up in the
// kernel, as with Kafka's max.connection.creation.rate.
type flow struct {
	closed <-chan struct{} // nobody passes any more

	mu      sync.Mutex
	rate    float64       // <= 0: no bound
	spare   float64       // how many may pass right now, at most rate or 1
	at      time.Time     // when spare was so much
	changed chan struct{} // closed when rate changes
}

func newFlow(rate int, closed <-chan struct{}) *flow {
	f := &flow{closed: closed, changed: make(chan struct{})}
	f.bound(rate)
	return f
}

// bound changes the rate; who waits looks again.
func (f *flow) bound(rate int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rate == float64(rate) {
		return
	}
	if f.rate <= 0 {
		f.spare = math.Inf(1) // nothing was counted; take cuts it to the rate
	}
	f.rate = float64(rate)
	close(f.changed)
	f.changed = make(chan struct{})
}

// pass waits for its turn; false when there will be none any more.
func (f *flow) pass(ctx context.Context) bool {
	for {
		pause, changed := f.take(time.Now())
		if pause == 0 {
			return true
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-changed:
		case <-f.closed:
		case <-ctx.Done():
		}
		timer.Stop()
		select {
		case <-f.closed:
			return false
		default:
		}
		if ctx.Err() != nil {
			return false
		}
	}
}

// take lets one pass, or says how long to wait before asking again.
func (f *flow) take(now time.Time) (pause time.Duration, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rate <= 0 {
		return 0, nil
	}
	f.spare = min(f.spare+now.Sub(f.at).Seconds()*f.rate, max(f.rate, 1))
	f.at = now
	if f.spare >= 1 {
		f.spare--
		return 0, nil
	}
	return max(time.Duration((1-f.spare)/f.rate*float64(time.Second)), time.Microsecond), f.changed
}
