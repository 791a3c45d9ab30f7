package group

import "github.com/ottla/ottla/internal/base/kerr"

// sessionTimeout comes when a member's session may have ended.
func (g *classic) sessionTimeout(m *member) {
	switch {
	case m.session.goesOn(g.desk):
	case !m.fresh && (m.join != nil || m.sync != nil):
		// It waits for us. The answer will start its session again.
	default:
		g.lose(m)
		g.forming.afterLoss()
	}
}

// heartbeat renews a session and tells of a rebalance.
func (s *Shard) heartbeat(r *Heartbeat) {
	if r.Group == "" {
		s.desk.answer(r, kerr.InvalidGroupId)
		return
	}
	g := s.groups.byID[r.Group]
	if err := g.checkGeneration(&r.Member); err != kerr.None {
		s.desk.answer(r, err)
		return
	}
	g.roster.byID[r.MemberID].heard(s.desk)
	if g.state == PreparingRebalance {
		s.desk.answer(r, kerr.RebalanceInProgress)
		return
	}
	s.desk.answer(r, kerr.None)
}

// leave removes members at their own wish, or at an administrator's.
func (s *Shard) leave(r *Leave) {
	g := s.groups.byID[r.Group]
	switch {
	case r.Group == "":
		s.desk.answer(r, kerr.InvalidGroupId)
		return
	case g == nil:
		for i := range r.Members {
			r.Members[i].Err = kerr.UnknownMemberId
		}
	case g.state == Dead:
		s.desk.answer(r, kerr.CoordinatorNotAvailable)
		return
	default:
		g.leave(r.Members)
	}
	s.desk.answer(r, kerr.None)
}

// leave removes members, and says of each what came of it.
func (g *classic) leave(members []LeavingMember) {
	left := false
	for i := range members {
		gone, err := g.leaveOne(&members[i])
		members[i].Err = err
		left = left || gone
	}
	if left {
		g.forming.afterLoss()
	} else {
		g.forming.completeIfAllJoined() // an id that was handed out may have been taken back
	}
}

// leaveOne tells whether a member of the group has gone.
func (g *classic) leaveOne(who *LeavingMember) (gone bool, err kerr.Code) {
	m := g.roster.byID[who.MemberID]
	switch {
	case who.MemberID == "":
		m = g.roster.static[who.InstanceID]
		if m == nil || who.InstanceID == "" {
			return false, kerr.UnknownMemberId
		}
	case g.door.takeBack(who.MemberID):
		return false, kerr.None
	default:
		if err := g.roster.check(who.MemberID, who.InstanceID); err != kerr.None {
			return false, err
		}
	}
	g.lose(m)
	return true, kerr.None
}
