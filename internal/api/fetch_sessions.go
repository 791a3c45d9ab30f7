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

// Bounds of the memory that sessions take, about 250 bytes a partition. Apache
// Kafka has none. A session that would pass one ends, or does not begin; its
// client goes on with full fetches.
const (
	maxSessionParts     = 10_000  // of one session
	maxSessionPartTotal = 500_000 // of all
)

// fetchSessions keeps what clients fetch, so that they need to name only what
// changed (KIP-227). It holds at most Slots sessions; when it is full a client
// without a session simply goes on with full fetches.
type fetchSessions struct {
	Slots int // max.incremental.fetch.session.cache.slots

	evictions metrics.Count

	mu    sync.Mutex
	byID  map[int32]*fetchSession
	total int // of the sizes of all sessions
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

	// Guarded by fetchSessions.mu. size is no less than parts holds.
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
// when no slot is free, or there are too many partitions.
func (s *fetchSessions) open(parts []fetchPart, byTopicID, privileged bool, now time.Time) *fetchSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(parts) > maxSessionParts {
		return nil
	}
	for len(s.byID) >= s.Slots || s.total+len(parts) > maxSessionPartTotal {
		if !s.evict(len(parts), privileged, now) {
			return nil
		}
	}
	session := &fetchSession{
		id: s.freshID(), byTopicID: byTopicID, privileged: privileged,
		created: now, used: now, epoch: 1, parts: newFetchList(parts), size: len(parts),
	}
	if s.byID == nil {
		s.byID = map[int32]*fetchSession{}
	}
	s.byID[session.id] = session
	s.total += session.size
	return session
}

// close forgets a session, if it exists.
func (s *fetchSessions) close(id int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(id)
}

// forget is close with mu held.
func (s *fetchSessions) forget(id int32) {
	if session, ok := s.byID[id]; ok {
		s.total -= session.size
		delete(s.byID, id)
	}
}

// resize notes that a session holds more partitions, or fewer; the smaller it is
// the sooner a bigger one may take its slot. It is false, and changes nothing,
// where the session would pass a bound or has lost its slot.
func (s *fetchSessions) resize(session *fetchSession, by int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[session.id] != session {
		return false
	}
	if by > 0 && (session.size+by > maxSessionParts || s.total+by > maxSessionPartTotal) {
		return false
	}
	session.size += by
	s.total += by
	return true
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
		s.forget(idle.id)
	case least != nil && least.lessThan(size, privileged):
		s.forget(least.id)
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
