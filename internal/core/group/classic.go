package group

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kerr"
)

// classic is a group of the classic protocol, or the offsets of consumers that
// use no group at all ("simple": no protocol type, always Empty).
type classic struct {
	desk         *desk
	id           string
	state        State
	previous     State // the state before this one
	changed      int64 // when the state was entered, ms; -1 when an old record did not say
	generation   int32
	protocolType string // "" until a first member came
	protocol     string // chosen for this generation; "" in none

	roster  roster
	door    admission
	forming rebalance

	// subscribed are the topics that the members of this generation consume;
	// nil when they cannot be told from their metadata.
	subscribed map[string]struct{}
	offsets    offsets
	// persisted tells that a record of the group is in the log or on its way.
	persisted bool
}

// newClassic makes an empty group.
func newClassic(d *desk, id string) *classic {
	g := &classic{desk: d, id: id, changed: d.now.UnixMilli}
	g.door.g = g
	g.forming.g = g
	g.forming.joinTimer.fire = g.forming.joinTimeout
	g.forming.syncTimer.fire = g.forming.syncTimeout
	return g
}

// add takes a member in; its session is the group's to end.
func (g *classic) add(m *member, protocolType string) {
	if g.roster.members.len() == 0 {
		g.protocolType = protocolType
	}
	m.session.fire = func() { g.sessionTimeout(m) }
	g.roster.add(m)
}

// stopTimers lets nothing come of the group any more.
func (g *classic) stopTimers() {
	g.forming.stop()
	for m := range g.roster.members.all() {
		g.desk.timers.stop(&m.session.timer)
	}
	g.door.takeBackAll()
}

// enter moves the group to a state.
func (g *classic) enter(state State) {
	g.previous, g.state, g.changed = g.state, state, g.desk.now.UnixMilli
}

// is tells whether the group is in one of the states.
func (g *classic) is(states ...State) bool { return slices.Contains(states, g.state) }

// supports tells whether a member with these protocols can be in the group.
func (g *classic) supports(protocolType string, protocols []Protocol) bool {
	if g.state == Empty {
		return protocolType != "" && len(protocols) > 0
	}
	return protocolType == g.protocolType && g.roster.agrees(protocols)
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
	if err := g.roster.check(r.MemberID, r.InstanceID); err != kerr.None {
		return err
	}
	if r.Generation != g.generation {
		return kerr.IllegalGeneration
	}
	return kerr.None
}

// listens tells whether a member consumes the topic, as far as that is known.
func (g *classic) listens(topic string) bool {
	_, yes := g.subscribed[topic]
	return yes
}

// resubscribe learns from the members' metadata what the group consumes.
func (g *classic) resubscribe() {
	g.subscribed = nil
	if g.protocolType != consumerProtocolType || g.protocol == "" || g.roster.members.len() == 0 {
		return
	}
	topics := make(map[string]struct{})
	for m := range g.roster.members.all() {
		if !subscribedTopics(m.metadata(g.protocol), topics) {
			return
		}
	}
	g.subscribed = topics
}

// persist appends the group as it is; u waits for the record.
func (g *classic) persist(u unit) {
	g.persistWith(u, func(m *member) []byte { return m.assignment })
}

// persistWith appends the group with assignments that are not the members' yet.
func (g *classic) persistWith(u unit, assigned func(*member) []byte) {
	g.persisted = true
	g.desk.open(u)
	g.desk.journal.group(g, assigned)
}

// unpark answers a member's parked join with an error. One who is told that its
// id is unknown is not given the id.
func (g *classic) unpark(m *member, err kerr.Code) {
	if r := g.roster.unpark(m); r != nil {
		if r.MemberID = m.id; err == kerr.UnknownMemberId {
			r.MemberID = ""
		}
		g.desk.refuseJoin(r, err)
	}
}

// answerJoin answers with the current generation.
func (g *classic) answerJoin(m *member, r *Join) {
	r.Reply = JoinReply{
		Generation: g.generation, ProtocolType: g.protocolType, Protocol: g.protocol,
		Leader: g.roster.leader, MemberID: m.id,
	}
	if g.roster.leader == m.id {
		r.Reply.Members = g.roster.view(g.protocol)
	}
	g.desk.answer(r, kerr.None)
}

// lose takes a member out of the group and ends what it waits for.
func (g *classic) lose(m *member) {
	g.desk.timers.stop(&m.session.timer)
	g.unpark(m, kerr.UnknownMemberId)
	m.refuseSync(g.desk, kerr.UnknownMemberId)
	g.roster.drop(m)
}

// resign tells all who wait that they wait in the wrong place.
func (g *classic) resign() {
	for m := range g.roster.members.all() {
		g.unpark(m, kerr.NotCoordinator)
		m.refuseSync(g.desk, kerr.NotCoordinator)
	}
}
