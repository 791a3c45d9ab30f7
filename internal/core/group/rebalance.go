package group

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kerr"
)

// rebalance starts a new generation, or goes on with the one being formed.
func (s *Shard) rebalance(g *classic) {
	if g.is(Empty, CompletingRebalance, Stable) {
		s.prepareRebalance(g)
		return
	}
	s.completeIfAllJoined(g)
}

// prepareRebalance makes the group wait for its members to join. A group that
// was empty waits a while for others to come, since clients tend to be started
// together and each newcomer would cost a rebalance.
func (s *Shard) prepareRebalance(g *classic) {
	if g.state == CompletingRebalance {
		s.cancelSyncs(g, kerr.RebalanceInProgress)
	}
	s.timers.stop(&g.syncTimer)
	first := g.state == Empty
	g.enter(PreparingRebalance, s.now)
	switch {
	case first:
		g.delay = max(s.cfg.InitialRebalanceDelay, 0)
		g.extendable = max(g.rebalanceTimeout()-g.delay, 0)
		s.timers.set(&g.joinTimer, s.now.At.Add(g.delay))
	case g.allJoined():
		s.completeJoin(g)
	default:
		s.timers.set(&g.joinTimer, s.now.At.Add(g.rebalanceTimeout()))
	}
}

// joinTimeout ends the wait for members, or prolongs the initial delay when
// more of them have come meanwhile.
func (s *Shard) joinTimeout(g *classic) {
	if g.previous == Empty && g.delay > 0 && g.grew && g.extendable > 0 {
		g.grew = false
		next := min(s.cfg.InitialRebalanceDelay, g.extendable)
		g.extendable = max(g.extendable-g.delay, 0)
		g.delay = next
		s.timers.set(&g.joinTimer, s.now.At.Add(next))
		return
	}
	s.completeJoin(g)
}

// completeIfAllJoined ends the wait early. The initial delay is not cut short.
func (s *Shard) completeIfAllJoined(g *classic) {
	if g.state == PreparingRebalance && g.previous != Empty && g.allJoined() {
		s.completeJoin(g)
	}
}

// completeJoin begins the next generation with those who have joined. Dynamic
// members who have not are out; static ones stay until their session ends.
func (s *Shard) completeJoin(g *classic) {
	s.timers.stop(&g.joinTimer)
	g.delay, g.grew = 0, false
	for _, m := range slices.Clone(g.members) {
		if m.join == nil && !m.static() {
			s.drop(g, m)
		}
	}
	if len(g.members) > 0 && !g.electJoined() {
		// Only static members are left and none is back: wait for the first
		// to come, or for their sessions to end.
		s.timers.set(&g.joinTimer, s.now.At.Add(g.rebalanceTimeout()))
		return
	}
	s.beginGeneration(g)
}

// beginGeneration tells all who joined about the new generation.
func (s *Shard) beginGeneration(g *classic) {
	g.generation++
	if len(g.members) == 0 {
		g.protocol = ""
		g.resubscribe()
		g.enter(Empty, s.now)
		s.persist(emptyUnit{}, g)
		return
	}
	g.protocol = g.choose()
	g.resubscribe()
	g.enter(CompletingRebalance, s.now)
	g.unsynced = 0
	for _, m := range g.members {
		m.fresh = false
		m.unsynced = true
		g.unsynced++
		if r := m.join; r != nil {
			m.join = nil
			g.joining--
			s.answerJoin(g, m, r)
		}
		s.expect(m, m.sessionTimeout)
	}
	s.timers.set(&g.syncTimer, s.now.At.Add(g.rebalanceTimeout()))
}

// emptyUnit is the record of a group that its last member left. Nobody waits
// for it: if it is lost, the generation before comes back after a restart and
// its members time out.
type emptyUnit struct{}

func (emptyUnit) committed(*Shard)         {}
func (emptyUnit) failed(*Shard, kerr.Code) {}
func (emptyUnit) late(*Shard, kerr.Code)   {}

// syncTimeout removes the members that joined and then did not ask for their
// assignment.
func (s *Shard) syncTimeout(g *classic) {
	if !g.is(CompletingRebalance, Stable) || g.unsynced == 0 {
		return
	}
	for _, m := range slices.Clone(g.members) {
		if m.unsynced {
			s.drop(g, m)
		}
	}
	s.prepareRebalance(g)
}

// drop takes a member out of its group and ends what it waits for.
func (s *Shard) drop(g *classic, m *member) {
	s.timers.stop(&m.session)
	s.unpark(g, m, kerr.UnknownMemberId)
	s.unparkSync(m, kerr.UnknownMemberId)
	g.drop(m)
}

// afterLoss lets the group react to the loss of a member.
func (s *Shard) afterLoss(g *classic) {
	if g.is(Stable, CompletingRebalance, PreparingRebalance) {
		s.rebalance(g)
	}
}
