package sim

import "github.com/ottla/ottla/internal/base/kafka"

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
	// message is what arrives, instead of run: most of what happens are messages.
	message *flight
}

// anyLife is for what reaches whatever process runs there by then.
const anyLife = -1

// queue is a heap of what comes, four children to a parent. What is put and taken
// is among what a run does most, so a hole is moved, and not what would have to be
// swapped.
type queue struct {
	all  []happening
	last uint64
}

// before is the order in which things happen.
func (h *happening) before(o *happening) bool {
	return h.at < o.at || h.at == o.at && h.seq < o.seq
}

const children = 4

func (q *queue) put(h happening) {
	q.last++
	h.seq = q.last
	q.all = append(q.all, happening{})
	hole := len(q.all) - 1
	for hole > 0 {
		parent := (hole - 1) / children
		if !h.before(&q.all[parent]) {
			break
		}
		q.all[hole] = q.all[parent]
		hole = parent
	}
	q.all[hole] = h
}

// take removes what comes first. The queue is not empty.
func (q *queue) take() happening {
	first, end := q.all[0], len(q.all)-1
	h := q.all[end]
	q.all[end] = happening{}
	q.all = q.all[:end]
	if end == 0 {
		return first
	}
	hole := 0
	for child := 1; child < end; child = hole*children + 1 {
		least := child
		for i := child + 1; i < min(child+children, end); i++ {
			if q.all[i].before(&q.all[least]) {
				least = i
			}
		}
		if !q.all[least].before(&h) {
			break
		}
		q.all[hole] = q.all[least]
		hole = least
	}
	q.all[hole] = h
	return first
}

func (q *queue) empty() bool { return len(q.all) == 0 }
