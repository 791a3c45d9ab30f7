package await

import "sync"

// Set collects which of many things have moved, for one who waits for them again
// and again, as a fetch session does for its partitions. Its watches stay in the
// lists of those things from one wait to the next. One that fires leaves its
// list, goes into the set, and stays there until Take; so a thing that moves a
// thousand times costs one turn, and a wait costs what moved and not what is
// watched.
//
// The lock of a set is taken with that of a thing held, and nothing is called
// under it. The zero Set is empty and wakes nobody.
type Set struct {
	mu     sync.Mutex
	moved  []*Watch
	parked *Parked
}

// Attend says whom to poke when something moves; nil: nobody. What has moved
// already is for the caller to Take.
func (s *Set) Attend(p *Parked) {
	s.mu.Lock()
	s.parked = p
	s.mu.Unlock()
}

// Take gives the watches that have fired since the last Take, each at least
// once. They lie in no list any more, until they are added again. spare is room
// for those to come; nil is good too.
func (s *Set) Take(spare []*Watch) []*Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.moved
	s.moved = spare[:0]
	return taken
}

// fire notes that the thing of a watch has moved, and appends whom to poke.
func (s *Set) fire(w *Watch, dst []*Parked) []*Parked {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved = append(s.moved, w)
	if s.parked != nil && !s.parked.Finished() {
		dst = append(dst, s.parked)
	}
	return dst
}
