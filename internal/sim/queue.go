package sim

import (
	"container/heap"

	"github.com/ottla/ottla/internal/base/kafka"
)

// happening is something that comes at a moment. Those of one moment come in
// the order in which they were put.
type happening struct {
	at  kafka.Instant
	seq uint64
	// who it happens to: it waits while that node is paused, and never comes if
	// that life of the node has ended. nil is the world itself.
	who  *node
	life int // anyLife for what outlives a restart
	run  func()
}

// anyLife is for what reaches whatever process runs there by then.
const anyLife = -1

// queue is a heap of what comes.
type queue struct {
	all  happenings
	last uint64
}

func (q *queue) put(h happening) {
	q.last++
	h.seq = q.last
	heap.Push(&q.all, h)
}

func (q *queue) take() happening { return heap.Pop(&q.all).(happening) }

func (q *queue) empty() bool { return len(q.all) == 0 }

type happenings []happening

func (h happenings) Len() int { return len(h) }
func (h happenings) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h happenings) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *happenings) Push(x any)   { *h = append(*h, x.(happening)) }
func (h *happenings) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = happening{}
	*h = old[:len(old)-1]
	return x
}
