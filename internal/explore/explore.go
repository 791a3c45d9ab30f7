// Package explore visits every state that a model can reach, breadth first, so
// that the first broken rule it meets has a shortest story. It knows nothing of
// what it explores; the quorum's core is explored by the tests of package raft,
// which see inside it. How far this can be trusted is measured on a small model
// whose number of states is known (see toy_test.go).
package explore

import (
	"encoding/binary"
	"fmt"
)

// Model is a system of states and steps. A state is a string of bytes; equal
// states have equal bytes.
type Model interface {
	Start() []byte
	// Next calls emit for each step that is possible in a state, also when it
	// leads back to it; step is a number that the model can tell about. The bytes
	// may be used again after emit. An error ends the search: the step breaks a
	// rule.
	Next(state []byte, emit func(step uint32, next []byte)) error
}

// Broken is a step that breaks a rule.
type Broken struct {
	Step uint32
	Rule string
}

func (b *Broken) Error() string { return b.Rule }

// Limits bound a search; 0 is no limit.
type Limits struct {
	States int
	// Enough ends the search when it returns true; it is asked from time to time.
	Enough func() bool
}

// Found is what a search has visited.
type Found struct {
	States      int // distinct ones
	Transitions int // steps taken, also those that lead to a known state
	Depth       int // levels: one more than the steps to the farthest state
	Complete    bool
	Broken      error    // the rule that a step breaks, or nil
	Path        []uint32 // the steps to there
}

func (f Found) String() string {
	text := fmt.Sprintf("%d states, %d transitions, depth %d", f.States, f.Transitions, f.Depth)
	if !f.Complete {
		text += ", not finished"
	}
	return text
}

// search is a breadth-first search under way. Of a visited state it keeps 64
// bits of fingerprint, and the step that led to it.
type search struct {
	found   Found
	seen    set
	parents []link
	next    []byte // the states of the next level: number, length, bytes
}

// link tells how a state was first reached.
type link struct{ parent, step uint32 }

// All explores a model to its end, to a limit, or to the first broken rule. At
// most 2^32 states are visited, and two states are taken for one when their
// fingerprints agree: with n states the chance of that is about n*n / 2^65.
func All(m Model, limits Limits) Found {
	s := &search{seen: newSet()}
	s.visit(0, 0, m.Start())
	for len(s.next) > 0 {
		s.found.Depth++
		level := s.next
		s.next = nil
		for at := 0; at < len(level); {
			number, size := binary.LittleEndian.Uint32(level[at:]), int(binary.LittleEndian.Uint32(level[at+4:]))
			state := level[at+8 : at+8+size]
			at += 8 + size
			err := m.Next(state, func(step uint32, next []byte) {
				s.found.Transitions++
				s.visit(number, step, next)
			})
			if err != nil {
				s.broke(number, err)
				return s.found
			}
			if limits.States > 0 && s.found.States >= limits.States || limits.Enough != nil && s.found.States%512 == 0 && limits.Enough() {
				return s.found
			}
		}
	}
	s.found.Complete = true
	return s.found
}

func (s *search) visit(parent, step uint32, state []byte) {
	if !s.seen.add(fingerprint(state)) {
		return
	}
	number := uint32(len(s.parents))
	s.parents = append(s.parents, link{parent, step})
	s.found.States++
	s.next = binary.LittleEndian.AppendUint32(s.next, number)
	s.next = binary.LittleEndian.AppendUint32(s.next, uint32(len(state)))
	s.next = append(s.next, state...)
}

// broke notes the broken rule and the way to it.
func (s *search) broke(number uint32, err error) {
	s.found.Broken = err
	if b, ok := err.(*Broken); ok {
		s.found.Path = []uint32{b.Step}
	}
	for number != 0 {
		s.found.Path = append([]uint32{s.parents[number].step}, s.found.Path...)
		number = s.parents[number].parent
	}
}

// fingerprint mixes the bytes of a state, eight at a time.
func fingerprint(state []byte) uint64 {
	h := uint64(len(state)) * 0x9e3779b97f4a7c15
	for len(state) >= 8 {
		h = mix(h ^ binary.LittleEndian.Uint64(state))
		state = state[8:]
	}
	var rest [8]byte
	copy(rest[:], state)
	if h = mix(h ^ binary.LittleEndian.Uint64(rest[:])); h == 0 {
		h = 1 // 0 marks an empty place of the set
	}
	return h
}

// mix is the finalizer of splitmix64 after a multiplication: each bit of the
// input changes half of the output.
func mix(h uint64) uint64 {
	h *= 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// set is an open-addressed set of fingerprints.
type set struct {
	places []uint64
	count  int
}

func newSet() set { return set{places: make([]uint64, 1<<12)} }

// add tells whether a fingerprint is new, and keeps it.
func (s *set) add(h uint64) bool {
	if s.count*4 > len(s.places)*3 {
		s.grow()
	}
	if !s.put(h) {
		return false
	}
	s.count++
	return true
}

func (s *set) put(h uint64) bool {
	mask := uint64(len(s.places) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch s.places[i] {
		case 0:
			s.places[i] = h
			return true
		case h:
			return false
		}
	}
}

func (s *set) grow() {
	old := s.places
	s.places = make([]uint64, 2*len(old))
	for _, h := range old {
		if h != 0 {
			s.put(h)
		}
	}
}
