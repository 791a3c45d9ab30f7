package group

import "github.com/ottla/ottla/internal/base/kerr"

// sync hands out assignments. Those of the leader are made durable first;
// everybody else waits for them.
func (s *Shard) sync(r *Sync) {
	g := s.groups.byID[r.Group]
	if r.Group == "" {
		s.desk.answer(r, kerr.InvalidGroupId)
		return
	}
	err := g.checkGeneration(&r.Member)
	switch {
	case err != kerr.None:
	case differs(r.ProtocolType, g.protocolType) || differs(r.Protocol, g.protocol):
		err = kerr.InconsistentGroupProtocol
	case g.state == PreparingRebalance:
		err = kerr.RebalanceInProgress
	}
	if err != kerr.None {
		s.desk.answer(r, err)
		return
	}
	g.sync(g.roster.byID[r.MemberID], r)
}

// differs tells whether a client that names a protocol names another one.
func differs(said *string, is string) bool { return said != nil && *said != is }

// sync takes the Sync of a member in the current generation.
func (g *classic) sync(m *member, r *Sync) {
	g.roster.synced(m)
	if g.roster.unsynced == 0 {
		g.desk.timers.stop(&g.forming.syncTimer)
	}
	if g.state == Stable {
		g.answerSync(m, r)
		return
	}
	m.refuseSync(g.desk, kerr.RebalanceInProgress) // sent before, and not waited for any more
	m.sync = r
	if g.roster.leader == m.id {
		g.storeAssignment(r)
	}
}

func (g *classic) answerSync(m *member, r *Sync) {
	r.Reply = SyncReply{ProtocolType: g.protocolType, Protocol: g.protocol, Assignment: m.assignment}
	g.desk.answer(r, kerr.None)
}

// cancelSyncs forgets assignments that were not made durable, and sends those
// who wait for them to join again.
func (g *classic) cancelSyncs(err kerr.Code) {
	for m := range g.roster.members.all() {
		m.assignment = nil
		if m.refuseSync(g.desk, err) {
			m.heard(g.desk)
		}
	}
}

// storeAssignment appends the leader's assignment. Members that it leaves out
// get an empty one, and what it has for others is not kept.
func (g *classic) storeAssignment(r *Sync) {
	given := make(map[string][]byte, g.roster.members.len())
	for _, a := range r.Assignments {
		if g.roster.byID[a.MemberID] != nil {
			given[a.MemberID] = a.Bytes
		}
	}
	u := &syncUnit{g: g, generation: g.generation, given: given, leader: r}
	g.persistWith(u, func(m *member) []byte { return given[m.id] })
}

// syncUnit is the record that makes a generation's assignment durable.
type syncUnit struct {
	g          *classic
	generation int32
	given      map[string][]byte // by member id
	leader     *Sync
}

// stale tells that the group has moved on while the record was under way.
func (u *syncUnit) stale() bool {
	return u.g.state != CompletingRebalance || u.g.generation != u.generation
}

// committed makes the group stable and answers all who wait.
func (u *syncUnit) committed() {
	if u.stale() {
		return
	}
	for m := range u.g.roster.members.all() {
		m.assignment = u.given[m.id]
		if r := m.sync; r != nil {
			m.sync = nil
			u.g.answerSync(m, r)
			m.heard(u.g.desk)
		}
	}
	u.g.enter(Stable)
}

// failed makes the members join again, so that the leader sends an assignment
// once more.
func (u *syncUnit) failed(err kerr.Code) {
	if u.stale() {
		return
	}
	u.g.cancelSyncs(err)
	u.g.forming.prepare()
}

// late lets the leader send its assignment again. The others keep waiting:
// this record or the next one will answer them.
func (u *syncUnit) late(err kerr.Code) {
	if m := u.g.roster.byID[u.leader.MemberID]; m != nil && m.sync == u.leader {
		m.refuseSync(u.g.desk, err)
		m.heard(u.g.desk)
	}
}
