package group

import (
	"bytes"
	"slices"

	"github.com/ottla/ottla/internal/base/kerr"
)

// maxString is how long a string may be in the records of a group.
const maxString = 1<<15 - 1

// join decides about a JoinGroup request. It answers at once, or parks the
// request until the group's next generation begins.
func (s *Shard) join(r *Join) {
	if err := s.joinable(r); err != kerr.None {
		s.refuseJoin(r, err)
		return
	}
	r.Protocols = unique(r.Protocols)
	g := s.groups[r.Group]
	switch {
	case g == nil && r.MemberID != "":
		s.refuseJoin(r, kerr.UnknownMemberId)
	case g == nil && !new(classic).supports(r.ProtocolType, r.Protocols):
		s.refuseJoin(r, kerr.InconsistentGroupProtocol)
	case g == nil:
		s.joinNew(s.newClassic(r.Group), r)
	case g.state == Dead:
		s.refuseJoin(r, kerr.CoordinatorNotAvailable)
	case !s.hasRoom(g, r.MemberID):
		s.expel(g, r.MemberID)
		r.MemberID = ""
		s.refuseJoin(r, kerr.GroupMaxSizeReached)
	case !g.supports(r.ProtocolType, r.Protocols):
		s.refuseJoin(r, kerr.InconsistentGroupProtocol)
	case r.MemberID == "":
		s.joinNew(g, r)
	default:
		s.rejoin(g, r)
	}
}

// joinable checks what needs no group.
func (s *Shard) joinable(r *Join) kerr.Code {
	switch {
	case r.Group == "" || len(r.Group) > maxString:
		return kerr.InvalidGroupId
	case r.SessionTimeout < s.cfg.MinSessionTimeout || r.SessionTimeout > s.cfg.MaxSessionTimeout:
		return kerr.InvalidSessionTimeout
	case s.isForeign(r.Group):
		return kerr.InconsistentGroupProtocol
	}
	// 40 bytes are left for the random part of the member's id.
	long := max(len(r.MemberID), len(r.InstanceID)+40, len(r.ClientID)+40, len(r.ClientHost), len(r.ProtocolType))
	for _, p := range r.Protocols {
		long = max(long, len(p.Name))
	}
	if long > maxString {
		return kerr.InvalidRequest
	}
	return kerr.None
}

// unique keeps the first of protocols that have the same name.
func unique(protocols []Protocol) []Protocol {
	for i := 1; i < len(protocols); i++ {
		same := func(p Protocol) bool { return p.Name == protocols[i].Name }
		if slices.ContainsFunc(protocols[:i], same) {
			protocols = slices.Delete(protocols, i, i+1)
			i--
		}
	}
	return protocols
}

// hasRoom applies group.max.size. While a generation is being formed those who
// wait for it count; otherwise a member of the group always has its place.
func (s *Shard) hasRoom(g *classic, memberID string) bool {
	m := g.byID[memberID]
	switch g.state {
	case PreparingRebalance:
		return m != nil && m.join != nil || g.joining < s.cfg.MaxSize
	case CompletingRebalance, Stable:
		return m != nil || len(g.members) < s.cfg.MaxSize
	}
	return true
}

// expel ends the membership of one who found no room.
func (s *Shard) expel(g *classic, memberID string) {
	s.dropPending(g, memberID)
	if m := g.byID[memberID]; m != nil {
		s.drop(g, m)
		s.afterLoss(g)
	}
}

// joinNew takes in a client that has no member id.
func (s *Shard) joinNew(g *classic, r *Join) {
	id := newMemberID(s.rng, r.ClientID, r.InstanceID)
	switch {
	case r.InstanceID != "" && g.static[r.InstanceID] != nil:
		s.replaceStatic(g, g.static[r.InstanceID], id, r)
	case r.InstanceID == "" && r.NeedsID:
		s.handOut(g, id, r)
	default:
		s.admit(g, id, r)
	}
}

// handOut gives a client its id to come back with (KIP-394), so that a client
// that gives up and retries does not leave a ghost in the group each time.
func (s *Shard) handOut(g *classic, id string, r *Join) {
	p := &pendingMember{}
	p.session.fire = func() {
		delete(g.pending, id)
		s.completeIfAllJoined(g)
	}
	if g.pending == nil {
		g.pending = make(map[string]*pendingMember)
	}
	g.pending[id] = p
	s.timers.set(&p.session, s.now.At.Add(r.SessionTimeout))
	r.MemberID = id
	s.refuseJoin(r, kerr.MemberIdRequired)
}

// dropPending takes an id back that was handed out.
func (s *Shard) dropPending(g *classic, id string) bool {
	p := g.pending[id]
	if p == nil {
		return false
	}
	s.timers.stop(&p.session)
	delete(g.pending, id)
	return true
}

// admit makes a member and starts, or goes on with, a rebalance.
func (s *Shard) admit(g *classic, id string, r *Join) {
	s.dropPending(g, id)
	m := &member{
		id: id, instance: r.InstanceID,
		clientID: r.ClientID, clientHost: r.ClientHost,
		sessionTimeout: r.SessionTimeout, rebalanceTimeout: r.RebalanceTimeout,
		protocols: r.Protocols, fresh: true,
	}
	m.session.fire = func() { s.sessionTimeout(g, m) }
	if g.state == PreparingRebalance && g.previous == Empty {
		g.grew = true
	}
	g.add(m, r.ProtocolType)
	s.park(g, m, r)
	s.expect(m, newMemberTimeout)
	s.rebalance(g)
}

// rejoin takes in a client that knows its member id.
func (s *Shard) rejoin(g *classic, r *Join) {
	if g.pending[r.MemberID] != nil && r.InstanceID == "" {
		s.admit(g, r.MemberID, r)
		return
	}
	if err := g.check(r.MemberID, r.InstanceID); err != kerr.None {
		s.refuseJoin(r, err)
		return
	}
	m := g.byID[r.MemberID]
	same := slices.EqualFunc(m.protocols, r.Protocols, sameProtocol)
	switch {
	case g.state == CompletingRebalance && same:
		// Its first answer may have been lost.
		s.answerJoin(g, m, r)
	case g.state == Stable && same && g.leader != m.id:
		s.answerJoin(g, m, r)
	case g.is(PreparingRebalance, CompletingRebalance, Stable):
		s.update(g, m, r)
		s.rebalance(g)
	default:
		s.refuseJoin(r, kerr.UnknownMemberId)
	}
}

func sameProtocol(a, b Protocol) bool {
	return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
}

// update takes over what a member says when it joins again, and parks its
// request.
func (s *Shard) update(g *classic, m *member, r *Join) {
	g.support(m, r.Protocols)
	m.rebalanceTimeout, m.sessionTimeout = r.RebalanceTimeout, r.SessionTimeout
	s.park(g, m, r)
}

// park lets a member wait for the next generation. A request that it sent
// before, most likely on a connection that is gone, is told to come again.
func (s *Shard) park(g *classic, m *member, r *Join) {
	if m.join != nil {
		s.unpark(g, m, kerr.RebalanceInProgress)
	}
	m.join = r
	g.joining++
}

// unpark answers a member's parked join with an error. One who is told that its
// id is unknown is not given the id.
func (s *Shard) unpark(g *classic, m *member, err kerr.Code) {
	if r := m.join; r != nil {
		m.join = nil
		g.joining--
		if r.MemberID = m.id; err == kerr.UnknownMemberId {
			r.MemberID = ""
		}
		s.refuseJoin(r, err)
	}
}

// refuseJoin answers with an error; the member id is the request's.
func (s *Shard) refuseJoin(r *Join, err kerr.Code) {
	r.Reply = JoinReply{Generation: noGeneration, MemberID: r.MemberID}
	s.answer(r, err)
}

// answerJoin answers with the current generation.
func (s *Shard) answerJoin(g *classic, m *member, r *Join) {
	r.Reply = JoinReply{
		Generation: g.generation, ProtocolType: g.protocolType, Protocol: g.protocol,
		Leader: g.leader, MemberID: m.id,
	}
	if g.leader == m.id {
		r.Reply.Members = g.view()
	}
	s.answer(r, kerr.None)
}
