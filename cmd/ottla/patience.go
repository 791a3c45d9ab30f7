package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// patience ends the sending of lines when some wait and none was acknowledged
// for the whole of --timeout. The client would go on: it never gives up a record
// that may have reached a broker, since the next one could then be a duplicate
// or out of order. To give up all of them, with the client, is safe.
type patience struct {
	limit time.Duration
	stop  context.CancelCauseFunc

	mu    sync.Mutex
	lines int         // sent and not acknowledged
	timer *time.Timer // runs while lines is above 0, since the last progress
}

func newPatience(limit time.Duration, stop context.CancelCauseFunc) *patience {
	p := &patience{limit: limit, stop: stop}
	p.timer = time.AfterFunc(limit, p.expire)
	p.timer.Stop()
	return p
}

// sent notes that a line is on its way.
func (p *patience) sent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines++; p.lines == 1 {
		p.timer.Reset(p.limit)
	}
}

// acknowledged notes that a line has arrived.
func (p *patience) acknowledged() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines--; p.lines == 0 {
		p.timer.Stop()
	} else {
		p.timer.Reset(p.limit)
	}
}

// expire may come just after the last line was acknowledged; then it is void.
func (p *patience) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines > 0 {
		p.stop(fmt.Errorf("lines not acknowledged within %v (--timeout): %d; some of them may have been written", p.limit, p.lines))
	}
}

func (p *patience) end() { p.timer.Stop() }
