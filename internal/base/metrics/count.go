package metrics

import (
	"sync/atomic"
	"time"
)

// Count only grows. The zero value is ready.
type Count struct{ n atomic.Uint64 }

// Add counts n more.
func (c *Count) Add(n int) { c.n.Add(uint64(n)) }

// Value is the count so far.
func (c *Count) Value() float64 { return float64(c.n.Load()) }

// Level goes up and down. The zero value is ready.
type Level struct{ n atomic.Int64 }

// Add changes the level by n, which may be negative.
func (l *Level) Add(n int) { l.n.Add(int64(n)) }

// Set makes the level n.
func (l *Level) Set(n int) { l.n.Store(int64(n)) }

// Value is the level now.
func (l *Level) Value() float64 { return float64(l.n.Load()) }

// Timing is a Distribution of durations. It keeps microseconds and shows
// milliseconds, as Kafka does. The zero value is ready.
type Timing struct{ Distribution }

// Saw counts one duration.
func (t *Timing) Saw(d time.Duration) { t.Observe(uint64(max(d.Microseconds(), 0))) }

// timingScale turns what a Timing keeps into what it shows.
const timingScale = 1e-3
