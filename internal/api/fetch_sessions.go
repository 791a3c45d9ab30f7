package api

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
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

// Bounds of the memory that sessions take, about 400 bytes a partition. Apache
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
	// ReviewEvery is how often a follower's session is looked through, see review.
	ReviewEvery time.Duration

	evictions metrics.Count

	mu    sync.Mutex
	byID  map[int32]*fetchSession
	total int // of the sizes of all sessions
}

// fetchSession is what one client fetches. id, byTopicID, privileged and created
// never change.
type fetchSession struct {
	fetchSet
	id         int32
	privileged bool // a follower's
	created    time.Time

	// Guarded by fetchSet.mu.
	epoch    int32 // the next one expected
	parts    map[fetchKey]*fetchPart
	reader   partitions.Reader
	reviewed time.Time

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

// open makes a session out of the partitions of a full fetch, whose turn it is,
// or returns nil when no slot is free, or there are too many partitions.
func (s *fetchSessions) open(parts []fetchPart, byTopicID bool, w *fetchWait, now time.Time) *fetchSession {
	if len(parts) > maxSessionParts {
		return nil
	}
	var evicted []*fetchSession
	defer func() {
		for _, session := range evicted {
			session.end()
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	privileged := w.reader.Follower != kafka.NoNode
	for len(s.byID) >= s.Slots || s.total+len(parts) > maxSessionPartTotal {
		out := s.evict(len(parts), privileged, now)
		if out == nil {
			return nil
		}
		evicted = append(evicted, out)
	}
	session := &fetchSession{
		fetchSet: fetchSet{byTopicID: byTopicID, turn: w},
		id:       s.freshID(), privileged: privileged, created: now, used: now, epoch: 1,
		parts: make(map[fetchKey]*fetchPart, len(parts)), reader: w.reader, reviewed: now, size: len(parts),
	}
	session.fill(parts)
	if s.byID == nil {
		s.byID = map[int32]*fetchSession{}
	}
	s.byID[session.id] = session
	s.total += session.size
	return session
}

// fill takes over the partitions of a new session, and keeps their array. Of two
// with one key the later replaces what the earlier asked.
func (s *fetchSession) fill(parts []fetchPart) {
	for i := range parts {
		p := &parts[i]
		if old, twice := s.parts[p.key]; twice {
			old.fetchWish = p.fetchWish
			continue
		}
		s.parts[p.key] = p
		s.enter(p)
	}
}

// close ends a session, if it exists.
func (s *fetchSessions) close(id int32) {
	s.mu.Lock()
	session := s.forget(id)
	s.mu.Unlock()
	if session != nil {
		session.end()
	}
}

// forget takes a session out of the table. mu is held, and the caller ends the
// session when it no longer is.
func (s *fetchSessions) forget(id int32) *fetchSession {
	session, ok := s.byID[id]
	if !ok {
		return nil
	}
	s.total -= session.size
	delete(s.byID, id)
	return session
}

// end lets go of all partitions. A fetch that is parked is answered.
func (s *fetchSession) end() {
	s.mu.Lock()
	parked := s.claim(nil)
	for _, p := range s.parts {
		s.leave(p)
	}
	s.mu.Unlock()
	parked.giveWay()
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

// evict makes room for a session of size partitions, if the rules allow, and
// gives the one that went: one that was not used for sessionIdle goes first; else
// the least important one goes, when it is older than that and less important
// than the new one.
func (s *fetchSessions) evict(size int, privileged bool, now time.Time) *fetchSession {
	var idle, least *fetchSession
	for _, session := range s.byID {
		if idle == nil || session.used.Before(idle.used) {
			idle = session
		}
		if now.Sub(session.created) > sessionIdle && (least == nil || session.lessThan(least.size, least.privileged)) {
			least = session
		}
	}
	out := least
	switch {
	case idle != nil && now.Sub(idle.used) > sessionIdle:
		out = idle
	case least == nil || !least.lessThan(size, privileged):
		return nil
	}
	s.evictions.Add(1)
	return s.forget(out.id)
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

// review has all partitions of the session looked at where that cannot be left
// out: when the client reads in another way than before, and for a follower from
// time to time. Each look at a partition tells its leader that the follower is
// alive and where it stands; what is not looked at would seem to have been left
// behind when the next record comes, and would not be proposed for the ISR again
// after a proposal was declined.
func (s *fetchSession) review(reader partitions.Reader, now time.Time, every time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.privileged && now.Sub(s.reviewed) >= every
	if reader == s.reader && !due {
		return
	}
	s.reader, s.reviewed = reader, now
	for _, p := range s.parts {
		s.queue.push(p)
	}
}
