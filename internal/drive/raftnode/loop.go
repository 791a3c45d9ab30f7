package raftnode

import (
	"context"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// loop owns the core and all that belongs to its events. Everyone else reaches
// it through the inbox, or reads the view, which is replaced whole and never
// changed.
type loop struct {
	n    *Node
	core *raft.Core

	votes      *votesMark
	calls      map[raft.Call]received // requests of peers that wait for an answer
	lastCall   raft.Call
	payload    []byte // bytes of the answer being handled
	shared     sharedRead
	offers     offers
	damaged    error // found in our own log, and not acted on yet
	proposals  map[uint64]*proposal
	lastTicket uint64
	pending    []raft.Pending // sends that wait for a sync
	deadline   kafka.Instant
	clean      cleaning
	stats      stats
	fetched    term // whose answer to a fetch came last
	examined   term // whose process is being looked for
	proven     term // whose process was found gone last
	held       heldPreVotes

	started bool
	handed  bool  // whoever waits for the end of the hand-over was told
	fault   error // the fatal one; from then on the node only refuses
}

// newLoop makes the core and carries out what its start asks for.
func newLoop(n *Node, dir *opened) (*loop, error) {
	cfg := n.cfg.core()
	core, effects, err := raft.New(n.clock.now(), cfg, dir.stored)
	if err != nil {
		return nil, err
	}
	l := &loop{n: n, core: core, votes: dir.votes, calls: map[raft.Call]received{}, proposals: map[uint64]*proposal{}}
	l.clean.next = n.clock.now().Add(cleanEvery)
	if n.cfg.Observer != nil {
		n.cfg.Observer.Started(cfg, dir.stored, core.State(), effects)
	}
	l.carryOut(effects)
	l.started = true
	return l, l.fault
}

func (l *loop) run(ctx context.Context) {
	defer close(l.n.done)
	timer := time.NewTimer(l.untilDeadline())
	defer timer.Stop()
	ask := l.n.stopAsk
	turns := turns{inner: l.n.inbox, outer: l.n.outer}
	for !l.leaving() {
		l.stats.idle.begin(l.n.clock.now())
		inner, outer := turns.next()
		select {
		case it := <-inner:
			l.stats.idle.end(l.n.clock.now())
			it.run(l)
		case it := <-outer:
			l.stats.idle.end(l.n.clock.now())
			it.run(l)
		case <-timer.C:
			l.stats.idle.end(l.n.clock.now())
			l.step(raft.Passed{})
		case <-ask:
			ask = nil
		case <-ctx.Done():
			return
		}
		l.tellHandedOver()
		l.stopHolding()
		l.clean.turn(l)
		timer.Reset(l.untilDeadline())
	}
}

// tellHandedOver tells once that a node which was asked to leave is free to go.
func (l *loop) tellHandedOver() {
	if !l.handed && (l.fault != nil || l.core.Finished()) {
		l.handed = true
		close(l.n.handed)
	}
}

// leaving tells that a node which was asked to stop has done so in good order.
func (l *loop) leaving() bool {
	select {
	case <-l.n.stopAsk:
		return l.fault != nil || l.core.Finished()
	default:
		return false
	}
}

func (l *loop) untilDeadline() time.Duration {
	at := min(l.deadline, l.clean.next)
	if at == kafka.Never {
		return time.Hour
	}
	return max(at.Sub(l.n.clock.now()), 0)
}

// fatal makes the node refuse everything from now on.
func (l *loop) fatal(err error) {
	if l.fault != nil {
		return
	}
	l.fault = err
	for _, p := range l.proposals {
		p.done(kafka.NoOffset, ErrStopped)
	}
	clear(l.proposals)
	if l.started {
		l.n.cfg.Log.Error("quorum node cannot go on", "dir", l.n.cfg.Dir, "err", err)
		go l.n.cfg.Fatal(err) // whoever is told may stop this node and wait for it
	}
}

// abandon answers who still waits for the loop, which has ended.
func (l *loop) abandon() {
	for _, p := range l.proposals {
		p.done(kafka.NoOffset, ErrStopped)
	}
	for _, r := range l.calls {
		r.refuse(l.n)
	}
	l.abandonOffers()
	l.abandonHeld()
}
