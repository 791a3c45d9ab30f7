package quota

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Window is how fast something came lately, as Apache Kafka's SimpleRate tells it:
// what is counted goes into samples of one span each, a sample is forgotten when
// nothing was added to it for as long as all of them span, and the rate is their sum
// over the time since the oldest one began.
//
// So a burst counts in full at once and is worth less the longer it is ago, until it
// is forgotten. The first span counts as a whole one: a rate over a millisecond would
// say nothing.
type Window struct {
	span   time.Duration // of one sample
	keep   time.Duration // how long a sample lasts after the last addition
	room   int           // samples that there may be; one more than are counted together
	ring   []sample      // grows to room, and is then used again
	latest int           // index into ring
}

// sample is what came in one span, or, in an idle time, one that began long ago.
type sample struct {
	began, last kafka.Instant // last is the time of the last addition
	sum         float64
}

// NewWindow makes an empty window over so many samples (replication.quota.window.num)
// of one span each (replication.quota.window.size.seconds). Both are above 0.
func NewWindow(samples int, span time.Duration) Window {
	return Window{span: span, keep: time.Duration(samples) * span, room: samples + 1}
}

// Add counts n more. The time does not go back from one call to the next.
func (w *Window) Add(now kafka.Instant, n int) {
	s := w.current(now)
	if now.Sub(s.began) >= w.span {
		s = w.advance(now)
	}
	s.sum += float64(n)
	s.last = now
}

// Rate is how many came in a second.
func (w *Window) Rate(now kafka.Instant) float64 {
	w.current(now)
	oldest, sum := now, 0.0
	for i := range w.ring {
		s := &w.ring[i]
		if now.Sub(s.last) >= w.keep {
			*s = sample{began: now, last: now}
		}
		oldest = min(oldest, s.began)
		sum += s.sum
	}
	return sum / max(now.Sub(oldest), w.span).Seconds()
}

// current is the latest sample, made when there is none.
func (w *Window) current(now kafka.Instant) *sample {
	if len(w.ring) == 0 {
		w.ring = append(make([]sample, 0, w.room), sample{began: now, last: now})
	}
	return &w.ring[w.latest]
}

// advance begins the next sample in the place of the oldest one.
func (w *Window) advance(now kafka.Instant) *sample {
	w.latest = (w.latest + 1) % w.room
	if w.latest == len(w.ring) {
		w.ring = append(w.ring, sample{})
	}
	w.ring[w.latest] = sample{began: now, last: now}
	return &w.ring[w.latest]
}
