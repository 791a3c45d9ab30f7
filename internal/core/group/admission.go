package group

import (
	"bytes"
	"slices"

	"github.com/ottla/ottla/internal/base/kerr"
)

// admission decides who comes into a group, and who comes back.
type admission struct {
	g *classic
	// pending are ids that were handed out to clients which have not come back
	// with them (KIP-394), each with the time until which it is waited for.
	pending map[string]*timer
}

// join takes in a client of a group that is not on its way out.
func (a *admission) join(r *Join) {
	switch {
	case !a.hasRoom(r.MemberID):
		a.expel(r.MemberID)
		r.MemberID = ""
		a.g.desk.refuseJoin(r, kerr.GroupMaxSizeReached)
	case !a.g.supports(r.ProtocolType, r.Protocols):
		a.g.desk.refuseJoin(r, kerr.InconsistentGroupProtocol)
	case r.MemberID == "":
		a.joinNew(r)
	default:
		a.rejoin(r)
	}
}

// hasRoom applies group.max.size. While a generation is being formed those who
// wait for it count; otherwise a member of the group always has its place.
func (a *admission) hasRoom(memberID string) bool {
	in, most := &a.g.roster, a.g.desk.cfg.MaxSize
	m := in.byID[memberID]
	switch a.g.state {
	case PreparingRebalance:
		return m != nil && m.join != nil || in.joining < most
	case CompletingRebalance, Stable:
		return m != nil || in.members.len() < most
	}
	return true
}

// expel ends the membership of one who found no room.
func (a *admission) expel(memberID string) {
	a.takeBack(memberID)
	if m := a.g.roster.byID[memberID]; m != nil {
		a.g.lose(m)
		a.g.forming.afterLoss()
	}
}

// joinNew takes in a client that has no member id.
func (a *admission) joinNew(r *Join) {
	id := newMemberID(a.g.desk.rng, r.ClientID, r.InstanceID)
	switch {
	case r.InstanceID != "" && a.g.roster.static[r.InstanceID] != nil:
		a.replaceStatic(a.g.roster.static[r.InstanceID], id, r)
	case r.InstanceID == "" && r.NeedsID:
		a.handOut(id, r)
	default:
		a.admit(id, r)
	}
}

// handOut gives a client its id to come back with (KIP-394), so that a client
// that gives up and retries does not leave a ghost in the group each time.
func (a *admission) handOut(id string, r *Join) {
	t := &timer{fire: func() {
		delete(a.pending, id)
		a.g.forming.completeIfAllJoined()
	}}
	if a.pending == nil {
		a.pending = make(map[string]*timer)
	}
	a.pending[id] = t
	a.g.desk.after(r.SessionTimeout, t)
	r.MemberID = id
	a.g.desk.refuseJoin(r, kerr.MemberIdRequired)
}

// takeBack takes an id back that was handed out, and tells whether it was.
func (a *admission) takeBack(id string) bool {
	t := a.pending[id]
	if t == nil {
		return false
	}
	a.g.desk.timers.stop(t)
	delete(a.pending, id)
	return true
}

// takeBackAll takes all ids back.
func (a *admission) takeBackAll() {
	for _, t := range a.pending { // any order leaves the same timers
		a.g.desk.timers.stop(t)
	}
	clear(a.pending)
}

// admit makes a member and starts, or goes on with, a rebalance.
func (a *admission) admit(id string, r *Join) {
	g := a.g
	a.takeBack(id)
	m := &member{
		id: id, instance: r.InstanceID,
		clientID: r.ClientID, clientHost: r.ClientHost,
		sessionTimeout: r.SessionTimeout, rebalanceTimeout: r.RebalanceTimeout,
		protocols: r.Protocols, fresh: true,
	}
	if g.state == PreparingRebalance && g.previous == Empty {
		g.forming.grew = true
	}
	g.add(m, r.ProtocolType)
	a.park(m, r)
	m.session.expect(g.desk, newMemberTimeout)
	g.forming.want()
}

// rejoin takes in a client that knows its member id.
func (a *admission) rejoin(r *Join) {
	g := a.g
	if a.pending[r.MemberID] != nil && r.InstanceID == "" {
		a.admit(r.MemberID, r)
		return
	}
	if err := g.roster.check(r.MemberID, r.InstanceID); err != kerr.None {
		g.desk.refuseJoin(r, err)
		return
	}
	m := g.roster.byID[r.MemberID]
	same := slices.EqualFunc(m.protocols, r.Protocols, sameProtocol)
	switch {
	case g.state == CompletingRebalance && same:
		// Its first answer may have been lost.
		g.answerJoin(m, r)
	case g.state == Stable && same && g.roster.leader != m.id:
		g.answerJoin(m, r)
	case g.is(PreparingRebalance, CompletingRebalance, Stable):
		a.update(m, r)
		g.forming.want()
	default:
		g.desk.refuseJoin(r, kerr.UnknownMemberId)
	}
}

func sameProtocol(a, b Protocol) bool {
	return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
}

// update takes over what a member says when it joins again, and parks its
// request.
func (a *admission) update(m *member, r *Join) {
	a.g.roster.support(m, r.Protocols)
	m.rebalanceTimeout, m.sessionTimeout = r.RebalanceTimeout, r.SessionTimeout
	a.park(m, r)
}

// park lets a member wait for the next generation. A request that it sent
// before, most likely on a connection that is gone, is told to come again.
func (a *admission) park(m *member, r *Join) {
	a.g.unpark(m, kerr.RebalanceInProgress)
	a.g.roster.park(m, r)
}
