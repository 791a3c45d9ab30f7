package group

import (
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// classic is a group of the classic protocol, or the offsets of consumers that
// use no group at all ("simple": no protocol type, always Empty).
type classic struct {
	id           string
	state        State
	previous     State // the state before this one
	changed      int64 // when the state was entered, ms; -1 when an old record did not say
	generation   int32
	protocolType string // "" until a first member came
	protocol     string // chosen for this generation; "" in none
	leader       string // a member's id; "" exactly when there are no members
	members      []*member
	byID         map[string]*member
	static       map[string]*member // by instance id
	pending      map[string]*pendingMember
	// votes counts how many members support a protocol.
	votes map[string]int
	// joining is the number of members with a parked Join.
	joining int
	// unsynced is the number of members that have not sent their Sync in this
	// generation.
	unsynced int
	// grew tells that members came since the initial delay was last set.
	grew bool
	// extendable is how much longer the initial delay may still become.
	extendable time.Duration
	delay      time.Duration // the initial delay that is running; 0: none

	// subscribed are the topics that the members of this generation consume;
	// nil when they cannot be told from their metadata.
	subscribed map[string]struct{}

	offsets map[kafka.TopicPartition]*offset

	joinTimer, syncTimer timer
	// persisted tells that a record of the group is in the log or on its way.
	persisted bool
}

// member is a client in a group.
type member struct {
	id, instance         string
	clientID, clientHost string
	sessionTimeout       time.Duration
	rebalanceTimeout     time.Duration
	protocols            []Protocol
	assignment           []byte

	// fresh is a member that has not completed a join: it does not know its
	// id yet unless it brought one, and may be gone without a trace.
	fresh bool
	// unsynced is set between the end of a join and the member's Sync.
	unsynced bool
	join     *Join // parked
	sync     *Sync // parked

	// expires is when the session ends. Invariant: while the member is in the
	// group the session timer is set no later than this, or the member waits
	// in join or sync, which holds its session open.
	expires kafka.Instant
	session timer
}

// pendingMember is an id that was handed out and has not joined (KIP-394).
type pendingMember struct {
	session timer
}

func (m *member) static() bool { return m.instance != "" }

// metadata is what the member says for a protocol.
func (m *member) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}

// enter moves the group to a state.
func (g *classic) enter(state State, now Time) {
	g.previous, g.state, g.changed = g.state, state, now.UnixMilli
}

// is tells whether the group is in one of the states.
func (g *classic) is(states ...State) bool { return slices.Contains(states, g.state) }

// check is what every request of a member has to pass (KIP-345 for the
// instance id).
func (g *classic) check(memberID, instanceID string) kerr.Code {
	if instanceID != "" {
		switch m := g.static[instanceID]; {
		case m == nil:
			return kerr.UnknownMemberId
		case m.id != memberID:
			return kerr.FencedInstanceId
		}
	}
	if g.byID[memberID] == nil {
		return kerr.UnknownMemberId
	}
	return kerr.None
}

// supports tells whether a member with these protocols can be in the group.
func (g *classic) supports(protocolType string, protocols []Protocol) bool {
	if g.state == Empty {
		return protocolType != "" && len(protocols) > 0
	}
	if protocolType != g.protocolType {
		return false
	}
	return slices.ContainsFunc(protocols, func(p Protocol) bool { return g.votes[p.Name] == len(g.members) })
}

// add takes a member in.
func (g *classic) add(m *member, protocolType string) {
	if len(g.members) == 0 {
		g.protocolType = protocolType
		g.leader = m.id
	}
	if g.byID == nil {
		g.byID = make(map[string]*member)
		g.votes = make(map[string]int)
	}
	g.members = append(g.members, m)
	g.byID[m.id] = m
	g.count(m, 1)
	if m.static() {
		if g.static == nil {
			g.static = make(map[string]*member)
		}
		g.static[m.instance] = m
	}
}

// drop takes a member out; the first of the others becomes leader when the
// leader goes. Its timer and parked requests are the caller's to end.
func (g *classic) drop(m *member) {
	g.count(m, -1)
	g.members = slices.DeleteFunc(g.members, func(x *member) bool { return x == m })
	delete(g.byID, m.id)
	if m.static() && g.static[m.instance] == m {
		delete(g.static, m.instance)
	}
	g.setSynced(m)
	if g.leader == m.id {
		g.leader = ""
		if len(g.members) > 0 {
			g.leader = g.members[0].id
		}
	}
}

// rename gives a static member another id.
func (g *classic) rename(m *member, id string) {
	delete(g.byID, m.id)
	if g.leader == m.id {
		g.leader = id
	}
	m.id = id
	g.byID[id] = m
}

// support replaces what a member supports.
func (g *classic) support(m *member, protocols []Protocol) {
	g.count(m, -1)
	m.protocols = protocols
	g.count(m, 1)
}

func (g *classic) count(m *member, by int) {
	for _, p := range m.protocols {
		if n := g.votes[p.Name] + by; n != 0 {
			g.votes[p.Name] = n
		} else {
			delete(g.votes, p.Name)
		}
	}
}

func (g *classic) setSynced(m *member) {
	if m.unsynced {
		m.unsynced = false
		g.unsynced--
	}
}

// choose elects the protocol of a generation: every member votes for the first
// of its protocols that all of them support. Of equally many votes the first
// member's choice wins.
func (g *classic) choose() string {
	ballot := make(map[string]int, 1)
	best := ""
	for _, m := range g.members {
		for _, p := range m.protocols {
			if g.votes[p.Name] == len(g.members) {
				ballot[p.Name]++
				break
			}
		}
	}
	for _, m := range g.members { // in the order of members, for the tie
		for _, p := range m.protocols {
			if ballot[p.Name] > ballot[best] {
				best = p.Name
			}
		}
	}
	return best
}

// rebalanceTimeout is how long the slowest member may take to join.
func (g *classic) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for _, m := range g.members {
		longest = max(longest, m.rebalanceTimeout)
	}
	return longest
}

// allJoined tells that nobody is missing for the next generation.
func (g *classic) allJoined() bool {
	return g.joining == len(g.members) && len(g.pending) == 0
}

// electJoined keeps the leader if it has rejoined, else takes the first member
// that has. It is false when there is none.
func (g *classic) electJoined() bool {
	if m := g.byID[g.leader]; m != nil && m.join != nil {
		return true
	}
	for _, m := range g.members {
		if m.join != nil {
			g.leader = m.id
			return true
		}
	}
	return false
}

// view is what the leader of the group is told about its members.
func (g *classic) view() []JoinMember {
	list := make([]JoinMember, len(g.members))
	for i, m := range g.members {
		list[i] = JoinMember{ID: m.id, InstanceID: m.instance, Metadata: m.metadata(g.protocol)}
	}
	return list
}

// listens tells whether a member consumes the topic, as far as that is known.
func (g *classic) listens(topic string) bool {
	_, yes := g.subscribed[topic]
	return yes
}

// resubscribe learns from the members' metadata what the group consumes.
func (g *classic) resubscribe() {
	g.subscribed = nil
	if g.protocolType != consumerProtocolType || g.protocol == "" || len(g.members) == 0 {
		return
	}
	topics := make(map[string]struct{})
	for _, m := range g.members {
		if !subscribedTopics(m.metadata(g.protocol), topics) {
			return
		}
	}
	g.subscribed = topics
}
