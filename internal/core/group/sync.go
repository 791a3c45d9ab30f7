package group

import (
	"github.com/ottla/ottla/internal/base/kerr"
)

// sync hands out assignments. Those of the leader are made durable first;
// everybody else waits for them.
func (s *Shard) sync(r *Sync) {
	g := s.groups[r.Group]
	if r.Group == "" {
		s.answer(r, kerr.InvalidGroupId)
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
		s.answer(r, err)
		return
	}
	m := g.byID[r.MemberID]
	s.setSynced(g, m)
	if g.state == Stable {
		s.answerSync(g, m, r)
		return
	}
	s.unparkSync(m, kerr.RebalanceInProgress) // sent before, and not waited for any more
	m.sync = r
	if g.leader == m.id {
		s.storeAssignment(g, r)
	}
}

// differs tells whether a client that names a protocol names another one.
func differs(said *string, is string) bool { return said != nil && *said != is }

func (s *Shard) setSynced(g *classic, m *member) {
	g.setSynced(m)
	if g.unsynced == 0 {
		s.timers.stop(&g.syncTimer)
	}
}

func (s *Shard) answerSync(g *classic, m *member, r *Sync) {
	r.Reply = SyncReply{ProtocolType: g.protocolType, Protocol: g.protocol, Assignment: m.assignment}
	s.answer(r, kerr.None)
}

// unparkSync answers a member's parked sync with an error.
func (s *Shard) unparkSync(m *member, err kerr.Code) {
	if r := m.sync; r != nil {
		m.sync = nil
		s.answer(r, err)
	}
}

// cancelSyncs forgets assignments that were not made durable, and sends those
// who wait for them to join again.
func (s *Shard) cancelSyncs(g *classic, err kerr.Code) {
	for _, m := range g.members {
		m.assignment = nil
		if m.sync != nil {
			s.unparkSync(m, err)
			s.expect(m, m.sessionTimeout)
		}
	}
}

// storeAssignment appends the leader's assignment. Members that it leaves out
// get an empty one.
func (s *Shard) storeAssignment(g *classic, r *Sync) {
	given := make(map[string][]byte, len(r.Assignments))
	for _, a := range r.Assignments {
		given[a.MemberID] = a.Bytes
	}
	u := &syncUnit{g: g, generation: g.generation, given: given, leader: r}
	s.persistWith(u, g, func(m *member) []byte { return given[m.id] })
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
func (u *syncUnit) committed(s *Shard) {
	if u.stale() {
		return
	}
	for _, m := range u.g.members {
		m.assignment = u.given[m.id]
		if r := m.sync; r != nil {
			m.sync = nil
			s.answerSync(u.g, m, r)
			s.expect(m, m.sessionTimeout)
		}
	}
	u.g.enter(Stable, s.now)
}

// failed makes the members join again, so that the leader sends an assignment
// once more.
func (u *syncUnit) failed(s *Shard, err kerr.Code) {
	if u.stale() {
		return
	}
	s.cancelSyncs(u.g, err)
	s.prepareRebalance(u.g)
}

// late lets the leader send its assignment again. The others keep waiting:
// this record or the next one will answer them.
func (u *syncUnit) late(s *Shard, err kerr.Code) {
	if m := u.g.byID[u.leader.MemberID]; m != nil && m.sync == u.leader {
		s.unparkSync(m, err)
		s.expect(m, m.sessionTimeout)
	}
}
