// Package explore visits every state that a model can reach, breadth first, so
// that the first broken rule it meets has a shortest story. It knows nothing of
// what it explores; the quorum's core is explored by the tests of package raft,
// which see inside it. How far this can be trusted is measured on a small model
// whose number of states is known (see toy_test.go).
//
// All processors work on one level at a time. What they count does not depend on
// how many they are: a level is the set of the new states that the one before
// leads to, whoever finds them first.
package explore

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Model is a system of states and steps. A state is a string of bytes; equal
// states have equal bytes.
type Model interface {
	Start() []byte
	// Next calls emit for each step that is possible in a state, also when it
	// leads back to it; step is a number that the model can tell about. The bytes
	// may be used again after emit. An error ends the search: the step breaks a
	// rule. Next is called by several goroutines at the same time.
	Next(state []byte, emit func(step uint32, next []byte)) error
}

// Broken is a step that breaks a rule.
type Broken struct {
	Step uint32
	Rule string
}

func (b *Broken) Error() string { return b.Rule }

// Limits bound a search; 0 is no limit. Where a search ends that meets one depends
// on how its goroutines are scheduled.
type Limits struct {
	States int
	// Enough ends the search when it returns true; it is asked from time to time,
	// by several goroutines.
	Enough func() bool
}

// Found is what a search has visited.
type Found struct {
	States      int // distinct ones
	Transitions int // steps taken, also those that lead to a known state
	Depth       int // levels: one more than the steps to the farthest state
	Complete    bool
	Broken      error    // the rule that a step breaks, or nil
	Path        []uint32 // the steps to there, one of the shortest ways
}

func (f Found) String() string {
	text := fmt.Sprintf("%d states, %d transitions, depth %d", f.States, f.Transitions, f.Depth)
	if !f.Complete {
		text += ", not finished"
	}
	return text
}

// search is a breadth-first search under way.
type search struct {
	model  Model
	limits Limits
	seen   *seen
	stop   atomic.Bool

	mu     sync.Mutex
	broken error
	at     uint32 // the state whose step broke the rule
}

// All explores a model to its end, to a limit, or to the first broken rule, with
// as many goroutines as there are processors for. It keeps nothing of a visited
// state but a fingerprint and how it was reached: at most 2^32 are visited, and
// see fingerprint for the chance that two are taken for one.
func All(m Model, limits Limits) Found {
	s := &search{model: m, limits: limits, seen: newSeen()}
	var f Found
	first := worker{s: s}
	first.visit(none, 0, m.Start())
	workers, level := []*worker{&first}, first.flush()
	for len(level) > 0 && !s.stop.Load() {
		f.Depth++
		workers = s.expand(level, workers[:0])
		level = nil
		for _, w := range workers {
			f.Transitions += w.transitions
			level = append(level, w.flush()...)
		}
	}
	f.States, f.Complete, f.Broken = s.seen.len(), len(level) == 0 && !s.stop.Load(), s.broken
	if s.broken != nil {
		f.Path = s.path()
	}
	return f
}

// expand takes every step from the states of a level.
func (s *search) expand(level []block, workers []*worker) []*worker {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(level)) {
		w := &worker{s: s}
		workers = append(workers, w)
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(level) || !w.block(level[i]) {
					return
				}
				level[i] = nil
			}
		})
	}
	wg.Wait()
	return workers
}

// worker is one goroutine's part of a level.
type worker struct {
	s           *search
	transitions int
	full        []block
	open        block
	number      uint32 // of the state whose steps are taken
}

// block takes every step from the states of a block; false when the search ends.
func (w *worker) block(b block) bool {
	s := w.s
	for number, state := range b.states() {
		if s.stop.Load() {
			return false
		}
		w.number = number
		if err := s.model.Next(state, w.emit); err != nil {
			s.breaks(number, err)
			return false
		}
		if s.limits.States > 0 && s.seen.len() >= s.limits.States {
			s.stop.Store(true)
		}
	}
	if s.limits.Enough != nil && s.limits.Enough() {
		s.stop.Store(true)
	}
	return true
}

func (w *worker) emit(step uint32, next []byte) {
	w.transitions++
	w.visit(w.number, step, next)
}

func (w *worker) visit(parent, step uint32, state []byte) {
	number, isNew := w.s.seen.add(fingerprint(state), link{parent, step})
	if !isNew {
		return
	}
	if w.open.room(state) < 0 {
		w.full = append(w.full, w.open)
		w.open = nil
	}
	w.open = w.open.with(number, state)
}

// flush gives the new states.
func (w *worker) flush() []block {
	if len(w.open) > 0 {
		w.full = append(w.full, w.open)
		w.open = nil
	}
	return w.full
}

// breaks notes the first broken rule that is met.
func (s *search) breaks(number uint32, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop.Store(true)
	if s.broken == nil {
		s.broken, s.at = err, number
	}
}

// path is the way to the broken rule.
func (s *search) path() []uint32 {
	var back []uint32
	if b, ok := s.broken.(*Broken); ok {
		back = []uint32{b.Step}
	}
	for l := s.seen.link(s.at); l.parent != none; l = s.seen.link(l.parent) {
		back = append(back, l.step)
	}
	slices.Reverse(back)
	return back
}
