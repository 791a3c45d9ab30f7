package group

import (
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
)

// replaceStatic gives the place of a static member to a client that comes with
// the same instance id and no member id: the same process after a restart. The
// old id is fenced at once.
func (a *admission) replaceStatic(m *member, id string, r *Join) {
	g := a.g
	before := staticUnit{
		g: g, m: m, id: m.id, newID: id, request: r, leader: g.roster.leader,
		protocols: m.protocols, sessionTimeout: m.sessionTimeout, rebalanceTimeout: m.rebalanceTimeout,
	}
	g.unpark(m, kerr.FencedInstanceId)
	m.refuseSync(g.desk, kerr.FencedInstanceId)
	g.roster.rename(m, id)
	m.clientID, m.clientHost = r.ClientID, r.ClientHost
	a.update(m, r)
	m.heard(g.desk)
	switch {
	case g.state == Stable && g.roster.choose() == g.protocol:
		// The next generation would look like this one, so there is no need
		// for it; but the new id has to survive a change of coordinator.
		g.persist(&before)
	case g.is(Stable, CompletingRebalance):
		// In CompletingRebalance the leader may already have the old id, and
		// the new one would get no assignment.
		g.forming.prepare()
	default:
		g.forming.completeIfAllJoined()
	}
}

// staticUnit is the record of a replaced static member, and how things were.
type staticUnit struct {
	g                *classic
	m                *member
	id, newID        string
	leader           string
	protocols        []Protocol
	sessionTimeout   time.Duration
	rebalanceTimeout time.Duration
	request          *Join
}

// committed answers the member with the generation that goes on.
func (u *staticUnit) committed() {
	r, m, g := u.request, u.m, u.g
	if m.join != r {
		return // a rebalance has answered it, or the member is gone
	}
	g.roster.unpark(m)
	leads := g.roster.leader == m.id
	g.answerJoin(m, r)
	switch {
	case r.CanSkip:
		r.Reply.SkipAssignment = leads
	default:
		// An old client that is told it leads would compute an assignment
		// that nobody waits for; it is told of the old leader (KIP-814).
		r.Reply.Leader, r.Reply.Members = u.leader, nil
	}
}

// failed puts the old member back. Its process may be gone, then its session
// ends and it leaves.
func (u *staticUnit) failed(err kerr.Code) {
	m, g := u.m, u.g
	if m.join == u.request {
		g.unpark(m, err)
	}
	if g.roster.byID[u.newID] != m {
		return
	}
	g.roster.rename(m, u.id)
	g.roster.support(m, u.protocols)
	m.sessionTimeout, m.rebalanceTimeout = u.sessionTimeout, u.rebalanceTimeout
	m.heard(g.desk)
}

// late tells the member to try again; the record may still be committed.
func (u *staticUnit) late(err kerr.Code) {
	if u.m.join == u.request {
		u.g.unpark(u.m, err)
	}
}
