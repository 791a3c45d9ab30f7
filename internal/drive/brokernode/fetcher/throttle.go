package fetcher

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Quota bounds how fast throttled replicas copy (KIP-73); *throttle.Quota is one.
type Quota interface {
	// Lists tells whether the replica of a partition here is throttled.
	Lists(tp kafka.TopicPartition) bool
	// Exceeded tells whether more was taken lately than may be.
	Exceeded() bool
	// Record counts bytes of a throttled replica.
	Record(bytes int)
}

// unbounded is the quota of a fetcher that has none.
type unbounded struct{}

func (unbounded) Lists(kafka.TopicPartition) bool { return false }
func (unbounded) Exceeded() bool                  { return false }
func (unbounded) Record(int)                      {}

// sift leaves throttled members out of the next request while the quota is used up,
// and takes those up again that need not wait any more.
func (s *source) sift() {
	exceeded := s.host.cfg.Quota.Exceeded()
	for id, m := range s.held {
		if !exceeded || !s.throttled(m) {
			delete(s.held, id)
			s.look(id)
		}
	}
	if !exceeded {
		return
	}
	for id, m := range s.members {
		if !m.rest.on() && s.throttled(m) {
			s.hold(id, m)
		}
	}
}

// throttled tells whether a member is one to be left out when the quota is used up.
// Writes wait for replicas in sync: those never are. Neither is one that lacks
// nothing, as it would cost nothing.
func (s *source) throttled(m *member) bool {
	return s.host.cfg.Quota.Lists(m.part.Name) && !m.caughtUp && !m.part.Follower().InSync()
}

// hold leaves a member out until sift takes it up.
func (s *source) hold(id kafka.TopicIDPartition, m *member) {
	s.unlist(id, m)
	s.held[id] = m
}

// nextLook is when to look at the members again of whom none can be fetched: when the
// first rest ends, and, as a quota frees itself with time, every
// replica.fetch.backoff.ms while it holds some. It is -1 where only an order helps.
func (s *source) nextLook(now time.Time) time.Duration {
	next := s.nextRest(now)
	if backoff := s.host.cfg.Limits.Backoff; len(s.held) > 0 && (next < 0 || next > backoff) {
		return backoff
	}
	return next
}
