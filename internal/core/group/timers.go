package group

import (
	"container/heap"

	"github.com/ottla/ottla/internal/base/kafka"
)

// timer is something that becomes due. It is set at most once at a time.
type timer struct {
	at    kafka.Instant
	order uint64 // breaks ties, so that equal times fire in the order they were set
	pos   int    // position in the heap, plus one; 0 when it is not set
	fire  func()
}

// timers is a heap of what will be due. A session that is renewed does not
// move its timer: it comes up early, sees that it is not due and is set anew,
// so a heartbeat costs no heap operation.
type timers struct {
	heap  timerHeap
	order uint64
}

// next is when the earliest timer is due.
func (t *timers) next() kafka.Instant {
	if len(t.heap) == 0 {
		return kafka.Never
	}
	return t.heap[0].at
}

// set makes x due at an instant, whether it was set before or not.
func (t *timers) set(x *timer, at kafka.Instant) {
	t.order++
	x.at, x.order = at, t.order
	if x.pos == 0 {
		heap.Push(&t.heap, x)
		return
	}
	heap.Fix(&t.heap, x.pos-1)
}

// stop takes x out; stopping a timer that is not set does nothing.
func (t *timers) stop(x *timer) {
	if x.pos != 0 {
		heap.Remove(&t.heap, x.pos-1)
	}
}

// run fires what is due at now. A timer that fires may set others, and itself.
func (t *timers) run(now kafka.Instant) {
	for len(t.heap) > 0 && t.heap[0].at <= now {
		heap.Pop(&t.heap).(*timer).fire()
	}
}

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].order < h[j].order
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i+1, j+1
}

func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	*h = append(*h, t)
	t.pos = len(*h)
}

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.pos = 0
	return t
}
