package api

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metrics"
)

// Session epochs with a meaning of their own (KIP-227).
const (
	sessionInitial int32 = 0  // a full fetch that asks for a session
	sessionFinal   int32 = -1 // a full fetch without one
	noSession      int32 = 0
)

// sessionIdle is how long a session must have been unused, or have existed,
// before another may take its slot.
const sessionIdle = 2 * time.Minute

// fetchSessions keeps what clients fetch, so that they need to name only what
// changed (KIP-227). It holds at most Slots sessions; when it is full a client
// without a session simply goes on with full fetches.
type fetchSessions struct {
	Slots int // max.incremental.fetch.session.cache.slots

	evictions metrics.Count

	mu   sync.Mutex
	byID map[int32]*fetchSession
}

// fetchSession is what one client fetches. mu is held while a fetch reads or
// changes the partitions; id, byTopicID, privileged and created never change.
type fetchSession struct {
	id         int32
	byTopicID  bool // made by a version that names topics by id
	privileged bool // a follower's
	created    time.Time

	mu    sync.Mutex
	epoch int32 // the next one expected
	parts fetchList

	// Guarded by fetchSessions.mu.
	used time.Time
	size int
}

// find gives the session of an incremental fetch.
func (s *fetchSessions) find(id int32, byTopicID bool, now time.Time) (*fetchSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, ok := s.byID[id]
	switch {
	case !ok:
		return nil, kerr.FetchSessionIdNotFound
	case session.byTopicID != byTopicID:
		return nil, kerr.FetchSessionTopicIdError
	}
	session.used = now
	return session, nil
}

// open makes a session out of the partitions of a full fetch, or returns nil
// when no slot is free.
func (s *fetchSessions) open(parts []fetchPart, byTopicID, privileged bool, now time.Time) *fetchSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byID) >= s.Slots && !s.evict(len(parts), privileged, now) {
		return nil
	}
	session := &fetchSession{
		id: s.freshID(), byTopicID: byTopicID, privileged: privileged,
		created: now, used: now, epoch: 1, parts: newFetchList(parts), size: len(parts),
	}
	if s.byID == nil {
		s.byID = map[int32]*fetchSession{}
	}
	s.byID[session.id] = session
	return session
}

// close forgets a session, if it exists.
func (s *fetchSessions) close(id int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, id)
}

// resized notes how many partitions a session holds now; the smaller it is the
// sooner a bigger one may take its slot.
func (s *fetchSessions) resized(session *fetchSession, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session.size = size
}

func (s *fetchSessions) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID)
}

func (s *fetchSessions) freshID() int32 {
	for {
		id := 1 + rand.Int32N(math.MaxInt32)
		if _, taken := s.byID[id]; !taken {
			return id
		}
	}
}

// evict makes room for a session of size partitions, if the rules allow: one
// that was not used for sessionIdle goes first; else the least important one
// goes, when it is older than that and less important than the new one.
func (s *fetchSessions) evict(size int, privileged bool, now time.Time) bool {
	var idle, least *fetchSession
	for _, session := range s.byID {
		if idle == nil || session.used.Before(idle.used) {
			idle = session
		}
		if now.Sub(session.created) > sessionIdle && (least == nil || session.lessThan(least.size, least.privileged)) {
			least = session
		}
	}
	switch {
	case idle != nil && now.Sub(idle.used) > sessionIdle:
		delete(s.byID, idle.id)
	case least != nil && least.lessThan(size, privileged):
		delete(s.byID, least.id)
	default:
		return false
	}
	s.evictions.Add(1)
	return true
}

// lessThan tells whether a session of the given kind is more important.
func (s *fetchSession) lessThan(size int, privileged bool) bool {
	if s.privileged != privileged {
		return privileged
	}
	return s.size < size
}

// step checks the epoch of an incremental fetch and moves on to the next. mu is
// held.
func (s *fetchSession) step(epoch int32) error {
	if epoch != s.epoch {
		return kerr.InvalidFetchSessionEpoch
	}
	if s.epoch == math.MaxInt32 {
		s.epoch = 0
	}
	s.epoch++
	return nil
}
