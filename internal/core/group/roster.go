package group

import (
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
)

// roster is who is in a group, who leads it, and what they all support.
type roster struct {
	leader  string // a member's id; "" exactly when there are no members
	members line
	byID    map[string]*member
	static  map[string]*member // by instance id
	// votes counts how many members support a protocol.
	votes map[string]int
	// joining is the number of members with a parked Join.
	joining int
	// unsynced is the number of members that have not sent their Sync in this
	// generation.
	unsynced int
}

// add takes a member in. The first one leads.
func (r *roster) add(m *member) {
	if r.members.len() == 0 {
		r.leader = m.id
	}
	if r.byID == nil {
		r.byID = make(map[string]*member)
		r.votes = make(map[string]int)
	}
	r.members.push(m)
	r.byID[m.id] = m
	r.count(m, 1)
	if m.static() {
		if r.static == nil {
			r.static = make(map[string]*member)
		}
		r.static[m.instance] = m
	}
}

// drop takes a member out; the first of the others becomes leader when the
// leader goes. Its timer and parked requests are the caller's to end.
func (r *roster) drop(m *member) {
	r.count(m, -1)
	r.members.remove(m)
	delete(r.byID, m.id)
	if m.static() && r.static[m.instance] == m {
		delete(r.static, m.instance)
	}
	r.synced(m)
	if r.leader == m.id {
		r.leader = ""
		if next := r.members.first; next != nil {
			r.leader = next.id
		}
	}
}

// rename gives a static member another id.
func (r *roster) rename(m *member, id string) {
	delete(r.byID, m.id)
	if r.leader == m.id {
		r.leader = id
	}
	m.id = id
	r.byID[id] = m
}

// support replaces what a member supports.
func (r *roster) support(m *member, protocols []Protocol) {
	r.count(m, -1)
	m.protocols = protocols
	r.count(m, 1)
}

func (r *roster) count(m *member, by int) {
	for _, p := range m.protocols {
		if n := r.votes[p.Name] + by; n != 0 {
			r.votes[p.Name] = n
		} else {
			delete(r.votes, p.Name)
		}
	}
}

// park lets a member wait for the next generation. It must not wait already.
func (r *roster) park(m *member, j *Join) {
	m.join = j
	r.joining++
}

// unpark gives the request that a member waits with, or nil, and lets it wait no
// more.
func (r *roster) unpark(m *member) *Join {
	j := m.join
	if j != nil {
		m.join = nil
		r.joining--
	}
	return j
}

// owe marks a member as one that has yet to ask for its assignment.
func (r *roster) owe(m *member) {
	if !m.unsynced {
		m.unsynced = true
		r.unsynced++
	}
}

// synced notes that a member has asked for its assignment, or never will.
func (r *roster) synced(m *member) {
	if m.unsynced {
		m.unsynced = false
		r.unsynced--
	}
}

// check is what every request of a member has to pass (KIP-345 for the
// instance id).
func (r *roster) check(memberID, instanceID string) kerr.Code {
	if instanceID != "" {
		switch m := r.static[instanceID]; {
		case m == nil:
			return kerr.UnknownMemberId
		case m.id != memberID:
			return kerr.FencedInstanceId
		}
	}
	if r.byID[memberID] == nil {
		return kerr.UnknownMemberId
	}
	return kerr.None
}

// agrees tells whether all members support one of the protocols.
func (r *roster) agrees(protocols []Protocol) bool {
	return slices.ContainsFunc(protocols, func(p Protocol) bool { return r.votes[p.Name] == r.members.len() })
}

// choose elects the protocol of a generation: every member votes for the first
// of its protocols that all of them support. Of equally many votes the first
// member's choice wins.
func (r *roster) choose() string {
	ballot := make(map[string]int, 1)
	best := ""
	for m := range r.members.all() {
		for _, p := range m.protocols {
			if r.votes[p.Name] == r.members.len() {
				ballot[p.Name]++
				break
			}
		}
	}
	for m := range r.members.all() { // in the order of members, for the tie
		for _, p := range m.protocols {
			if ballot[p.Name] > ballot[best] {
				best = p.Name
			}
		}
	}
	return best
}

// rebalanceTimeout is how long the slowest member may take to join.
func (r *roster) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for m := range r.members.all() {
		longest = max(longest, m.rebalanceTimeout)
	}
	return longest
}

// electJoined keeps the leader if it has rejoined, else takes the first member
// that has. It is false when there is none.
func (r *roster) electJoined() bool {
	if m := r.byID[r.leader]; m != nil && m.join != nil {
		return true
	}
	for m := range r.members.all() {
		if m.join != nil {
			r.leader = m.id
			return true
		}
	}
	return false
}

// view is what the leader is told about the members.
func (r *roster) view(protocol string) []JoinMember {
	list := make([]JoinMember, 0, r.members.len())
	for m := range r.members.all() {
		list = append(list, JoinMember{ID: m.id, InstanceID: m.instance, Metadata: m.metadata(protocol)})
	}
	return list
}
