package dirmove

import (
	"context"
	"sync"
	"time"
)

// unpaced is a rate that no disk reaches, in bytes a second.
const unpaced = 1e15

// longest bounds a wait for the rate, however low that is.
const longest = time.Hour

// pace holds all movers together at a rate. What was copied is paid for afterwards, by
// whoever comes next.
type pace struct {
	mu      sync.Mutex
	rate    float64
	changed chan struct{} // closed when rate changes
	free    time.Time     // when all is paid for
}

func (p *pace) set(rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if rate == p.rate {
		return
	}
	now := time.Now()
	if owed := p.free.Sub(now); owed > 0 && p.rate > 0 {
		p.free = now.Add(inSeconds(owed.Seconds()*p.rate, rate))
	}
	p.rate = rate
	close(p.changed)
	p.changed = make(chan struct{})
}

// spend notes what was copied.
func (p *pace) spend(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rate >= unpaced {
		return
	}
	if now := time.Now(); p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(inSeconds(float64(bytes), p.rate))
}

func inSeconds(bytes, rate float64) time.Duration {
	if rate <= 0 || bytes/rate > longest.Seconds() {
		return longest
	}
	return time.Duration(bytes / rate * float64(time.Second))
}

// portion is how much to copy at once: a quarter of a second's worth, where that is
// little.
func (p *pace) portion() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(max(min(p.rate/4, chunk), 1))
}

// wait lets the next one copy, or ends with ctx.
func (p *pace) wait(ctx context.Context) error {
	for {
		p.mu.Lock()
		pause, changed := time.Until(p.free), p.changed
		switch {
		case p.rate <= 0:
			pause = longest
		case p.rate >= unpaced:
			pause = 0
		}
		p.mu.Unlock()
		if pause <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
