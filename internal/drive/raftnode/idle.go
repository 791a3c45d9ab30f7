package raftnode

import (
	"sync"

	"github.com/ottla/ottla/internal/base/kafka"
)

// idleness is how long a loop waits for something to do.
type idleness struct {
	mu     sync.Mutex
	waited kafka.Instant // in all, of the waits that have ended
	since  kafka.Instant // when the present wait began; busy while there is none
	idle   bool

	lastAt, lastWaited kafka.Instant // when ratio was asked for last
	last               float64
}

// begin is called before the loop waits, end after it.
func (i *idleness) begin(now kafka.Instant) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.since, i.idle = now, true
}

func (i *idleness) end(now kafka.Instant) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waited, i.idle = i.waitedBy(now), false
}

func (i *idleness) waitedBy(now kafka.Instant) kafka.Instant {
	if i.idle {
		return i.waited + now - i.since
	}
	return i.waited
}

// ratio is the part of the time since it was last asked for that was spent waiting.
func (i *idleness) ratio(now kafka.Instant) float64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	if now > i.lastAt {
		waited := i.waitedBy(now)
		i.last = float64(waited-i.lastWaited) / float64(now-i.lastAt)
		i.lastAt, i.lastWaited = now, waited
	}
	return i.last
}
