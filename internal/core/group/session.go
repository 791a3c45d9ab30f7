package group

import (
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
)

// expect gives a member until then to be heard of again.
func (s *Shard) expect(m *member, within time.Duration) {
	m.expires = s.now.At.Add(within)
	if m.session.pos == 0 || m.session.at > m.expires {
		s.timers.set(&m.session, m.expires)
	}
}

// sessionTimeout comes when a session may have ended.
func (s *Shard) sessionTimeout(g *classic, m *member) {
	switch {
	case m.expires > s.now.At: // renewed since
		s.timers.set(&m.session, m.expires)
	case !m.fresh && (m.join != nil || m.sync != nil):
		// It waits for us. The answer will start its session again.
	default:
		s.drop(g, m)
		s.afterLoss(g)
	}
}

// heartbeat renews a session and tells of a rebalance.
func (s *Shard) heartbeat(r *Heartbeat) {
	if r.Group == "" {
		s.answer(r, kerr.InvalidGroupId)
		return
	}
	g := s.groups[r.Group]
	if err := g.checkGeneration(&r.Member); err != kerr.None {
		s.answer(r, err)
		return
	}
	m := g.byID[r.MemberID]
	s.expect(m, m.sessionTimeout)
	if g.state == PreparingRebalance {
		s.answer(r, kerr.RebalanceInProgress)
		return
	}
	s.answer(r, kerr.None)
}

// checkGeneration is what a request of a member in a generation has to pass. The
// group may be nil: not there.
func (g *classic) checkGeneration(r *Member) kerr.Code {
	switch {
	case g == nil:
		return kerr.UnknownMemberId
	case g.state == Dead:
		return kerr.CoordinatorNotAvailable
	}
	if err := g.check(r.MemberID, r.InstanceID); err != kerr.None {
		return err
	}
	if r.Generation != g.generation {
		return kerr.IllegalGeneration
	}
	return kerr.None
}

// leave removes members at their own wish, or at an administrator's.
func (s *Shard) leave(r *Leave) {
	g := s.groups[r.Group]
	switch {
	case r.Group == "":
		s.answer(r, kerr.InvalidGroupId)
		return
	case g != nil && g.state == Dead:
		s.answer(r, kerr.CoordinatorNotAvailable)
		return
	}
	left := false
	for i := range r.Members {
		gone, err := s.leaveOne(g, &r.Members[i])
		r.Members[i].Err = err
		left = left || gone
	}
	if left {
		s.afterLoss(g)
	} else if g != nil {
		s.completeIfAllJoined(g) // an id that was handed out may have been taken back
	}
	s.answer(r, kerr.None)
}

// leaveOne tells whether a member of the group has gone.
func (s *Shard) leaveOne(g *classic, who *LeavingMember) (gone bool, err kerr.Code) {
	if g == nil {
		return false, kerr.UnknownMemberId
	}
	m := g.byID[who.MemberID]
	switch {
	case who.MemberID == "":
		m = g.static[who.InstanceID]
		if m == nil || who.InstanceID == "" {
			return false, kerr.UnknownMemberId
		}
	case s.dropPending(g, who.MemberID):
		return false, kerr.None
	default:
		if err := g.check(who.MemberID, who.InstanceID); err != kerr.None {
			return false, err
		}
	}
	s.drop(g, m)
	return true, kerr.None
}
