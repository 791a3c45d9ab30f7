package group

import (
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
)

// rebalance forms the next generation of a group: it waits for members to join
// and, once the generation has begun, for them to ask for their assignment.
type rebalance struct {
	g         *classic
	joinTimer timer // ends the wait for joins
	syncTimer timer // ends the wait for syncs
	// grew tells that members came since the initial delay was last set.
	grew bool
	// extendable is how much longer the initial delay may still become.
	extendable time.Duration
	delay      time.Duration // the initial delay that is running; 0: none
}

// want starts a new generation, or goes on with the one being formed.
func (r *rebalance) want() {
	if r.g.is(Empty, CompletingRebalance, Stable) {
		r.prepare()
		return
	}
	r.completeIfAllJoined()
}

// prepare makes the group wait for its members to join. A group that was empty
// waits a while for others to come, since clients tend to be started together
// and each newcomer would cost a rebalance.
func (r *rebalance) prepare() {
	g := r.g
	if g.state == CompletingRebalance {
		g.cancelSyncs(kerr.RebalanceInProgress)
	}
	g.desk.timers.stop(&r.syncTimer)
	first := g.state == Empty
	g.enter(PreparingRebalance)
	switch {
	case first:
		r.delay = max(g.desk.cfg.InitialRebalanceDelay, 0)
		r.extendable = max(g.roster.rebalanceTimeout()-r.delay, 0)
		g.desk.after(r.delay, &r.joinTimer)
	case r.allJoined():
		r.complete()
	default:
		g.desk.after(g.roster.rebalanceTimeout(), &r.joinTimer)
	}
}

// joinTimeout ends the wait for members, or prolongs the initial delay when
// more of them have come meanwhile.
func (r *rebalance) joinTimeout() {
	if r.g.previous == Empty && r.delay > 0 && r.grew && r.extendable > 0 {
		r.grew = false
		next := min(r.g.desk.cfg.InitialRebalanceDelay, r.extendable)
		r.extendable = max(r.extendable-r.delay, 0)
		r.delay = next
		r.g.desk.after(next, &r.joinTimer)
		return
	}
	r.complete()
}

// allJoined tells that nobody is missing for the next generation.
func (r *rebalance) allJoined() bool {
	return r.g.roster.joining == r.g.roster.members.len() && len(r.g.door.pending) == 0
}

// completeIfAllJoined ends the wait early. The initial delay is not cut short.
func (r *rebalance) completeIfAllJoined() {
	if r.g.state == PreparingRebalance && r.g.previous != Empty && r.allJoined() {
		r.complete()
	}
}

// complete begins the next generation with those who have joined. Dynamic
// members who have not are out; static ones stay until their session ends.
func (r *rebalance) complete() {
	g := r.g
	g.desk.timers.stop(&r.joinTimer)
	r.delay, r.grew = 0, false
	for m := range g.roster.members.all() {
		if m.join == nil && !m.static() {
			g.lose(m)
		}
	}
	if g.roster.members.len() > 0 && !g.roster.electJoined() {
		// Only static members are left and none is back: wait for the first
		// to come, or for their sessions to end.
		g.desk.after(g.roster.rebalanceTimeout(), &r.joinTimer)
		return
	}
	g.generation++
	if g.roster.members.len() == 0 {
		r.beginEmpty()
		return
	}
	r.begin()
}

// begin tells all who joined about the new generation.
func (r *rebalance) begin() {
	g := r.g
	g.protocol = g.roster.choose()
	g.resubscribe()
	g.enter(CompletingRebalance)
	for m := range g.roster.members.all() {
		m.fresh = false
		g.roster.owe(m)
		if j := g.roster.unpark(m); j != nil {
			g.answerJoin(m, j)
		}
		m.heard(g.desk)
	}
	g.desk.after(g.roster.rebalanceTimeout(), &r.syncTimer)
}

// beginEmpty begins a generation that has no members.
func (r *rebalance) beginEmpty() {
	r.g.protocol = ""
	r.g.resubscribe()
	r.g.enter(Empty)
	r.g.persist(emptyUnit{})
}

// emptyUnit is the record of a group that its last member left. Nobody waits
// for it: if it is lost, the generation before comes back after a restart and
// its members time out.
type emptyUnit struct{}

func (emptyUnit) committed()       {}
func (emptyUnit) failed(kerr.Code) {}
func (emptyUnit) late(kerr.Code)   {}

// syncTimeout removes the members that joined and then did not ask for their
// assignment.
func (r *rebalance) syncTimeout() {
	g := r.g
	if !g.is(CompletingRebalance, Stable) || g.roster.unsynced == 0 {
		return
	}
	for m := range g.roster.members.all() {
		if m.unsynced {
			g.lose(m)
		}
	}
	r.prepare()
}

// afterLoss lets the group react to the loss of a member.
func (r *rebalance) afterLoss() {
	if r.g.is(Stable, CompletingRebalance, PreparingRebalance) {
		r.want()
	}
}

// stop forms nothing any more.
func (r *rebalance) stop() {
	r.g.desk.timers.stop(&r.joinTimer)
	r.g.desk.timers.stop(&r.syncTimer)
}
