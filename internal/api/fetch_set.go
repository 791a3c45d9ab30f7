package api

import (
	"sync"

	"github.com/ottla/ottla/internal/edge/await"
)

// fetchSet is what one fetch asks for, or a session of fetches, and which part of
// it is worth a look.
//
// A partition stands in the queue while it may have something for the client: at
// first, when a request names it, when its watch has fired, and for as long as the
// last look found something. Else it is left alone, over any number of requests,
// with its watch set. So a request costs what it names and what has moved, not what
// the session holds.
type fetchSet struct {
	byTopicID bool // topics are named by id

	mu sync.Mutex
	// turn is the fetch that is being served; another one, that came before it,
	// gives way.
	turn  *fetchWait
	queue fetchQueue
	moved await.Set
	spare []*await.Watch // room for moved.Take
	// single: the set is that of one fetch alone, which is full: all of it stays in
	// the queue.
	single bool
}

// claim gives a fetch its turn, or nobody. It tells which one is parked and has to
// give way. mu is held, as in all below.
func (s *fetchSet) claim(w *fetchWait) (parked *fetchWait) {
	before := s.turn
	s.turn = w
	s.moved.Attend(nil)
	if before != nil && before.parked {
		return before
	}
	return nil // one that is not parked looks whose turn it is by itself
}

// yield ends the turn of a fetch, if it has it.
func (s *fetchSet) yield(w *fetchWait) {
	if s.turn != w {
		return
	}
	s.turn = nil
	s.moved.Attend(nil)
	if !s.single || !w.parked {
		return // no watch is to be ended
	}
	for p := s.queue.first; p != nil; p = p.following {
		p.lose()
	}
}

// enter takes a partition up.
func (s *fetchSet) enter(p *fetchPart) {
	p.watch.Set, p.watch.Of = &s.moved, p
	s.queue.push(p)
}

// leave takes a partition out.
func (s *fetchSet) leave(p *fetchPart) {
	p.left = true
	s.queue.remove(p)
	p.lose()
}

// collect queues what has moved since it was called last.
func (s *fetchSet) collect() {
	fired := s.moved.Take(s.spare)
	for i, w := range fired {
		if p, ok := w.Of.(*fetchPart); ok && !p.left {
			s.queue.push(p)
		}
		fired[i] = nil
	}
	s.spare = fired
}
