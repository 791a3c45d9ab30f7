package sim

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// healing is the second phase: the nodes of the core are repaired and hear each
// other; the others stay as broken as they are drawn.
type healing struct {
	core    []*node
	whole   bool // everybody is in the core
	since   kafka.Instant
	agreed  kafka.Instant // 0 before
	epoch   kafka.Epoch   // then
	outside string        // how the others are broken
	done    bool
	// hopeless tells that a set of voters has no majority of disks any more, so
	// that nothing can be asked of it but to keep still.
	hopeless bool
}

const (
	// proposing is how long the workload goes on after healing.
	proposing = 2 * time.Second
	// healingLimit is in how long a repaired quorum has to agree. A check of
	// the quorum, a fetch timeout and ten elections of twice their timeout are
	// 1.5 x 2 + 2 + 10 x 2 seconds; clocks may be a fifth too slow. A disk that
	// stalls may go on doing so for its time.
	healingLimit = 32 * time.Second
	// givesUp is in how long a leader that no majority reaches has to stop: 1.5
	// fetch timeouts, by a clock that may be too slow and may have jumped back.
	givesUp = 4*time.Second + backJump
	// calm is how long an agreement of everybody has to last.
	calm = 4 * time.Second
)

// stays tells that a node remains down for good.
func (n *node) stays() bool {
	if n.w.ruined != nil && !n.w.plan.Dynamic && n.w.gone[dirOf(n.id)] {
		return true // there is nothing to start from
	}
	return n.w.healed != nil && n.w.healed.outside == "down" && !n.w.healed.has(n)
}

func (h *healing) has(n *node) bool {
	for _, m := range h.core {
		if m == n {
			return true
		}
	}
	return false
}

// heal ends the chaos. Half of the time everybody is repaired, else a majority
// of the voters.
func (w *World) heal() {
	w.chaos = false
	h := &healing{since: w.now, whole: w.rng.IntN(2) == 0, outside: pick(w.rng, "down", "cut", "deaf", "mute")}
	h.whole = h.whole || w.plan.moving() // any of them may be the last voter
	w.healed = h
	count := w.plan.Voters
	if !h.whole {
		count = w.plan.Voters/2 + 1
	}
	for _, i := range w.rng.Perm(w.plan.Voters)[:count] {
		h.core = append(h.core, w.nodes[i])
	}
	h.core = append(h.core, w.nodes[w.plan.Voters:]...)
	h.whole = count == w.plan.Voters
	w.note("-- healed; others are %s, if any", h.outside)
	for _, n := range w.nodes {
		w.mend(n)
	}
	w.later(proposing, func() { w.work.stopped = true })
	w.later(proposing+time.Millisecond, w.look)
}

// mend repairs a node of the core, and breaks what is outside for good.
func (w *World) mend(n *node) {
	h := w.healed
	inside := h.has(n)
	if n.old { // a mixed quorum may be disturbed as an old one is (P10)
		n.crash("to come back as the new version")
		n.old = false
	}
	for _, o := range w.nodes {
		l := w.link(n, o)
		*l = link{}
		if inside == h.has(o) {
			continue
		}
		out := !inside // the way from outside to the core
		if h.outside == "cut" || h.outside == "mute" && out || h.outside == "deaf" && !out {
			w.cut(n, o, kafka.Never)
		}
	}
	if !inside {
		if h.outside == "down" {
			n.crash("for good")
		}
		return
	}
	n.slow = 0
	if n.up && (n.broken || n.core.Finished() || n.watch.closing) {
		n.crash("to be repaired")
	}
	if !n.up {
		n.boot()
	}
}

// look checks from time to time whether the core agrees, and that it does in
// the time it has.
func (w *World) look() {
	h := w.healed
	if h.agreed != 0 && w.now.Sub(h.agreed) >= calm {
		w.check.outsiders()
		h.done = true
		return
	}
	switch leader := w.agreement(); {
	case h.agreed != 0:
		w.check.calm(h.epoch)
	case h.agreed == 0 && leader != nil:
		h.agreed, h.epoch = w.now, leader.disk.election.Epoch
		w.check.agreed()
		w.note("-- all agree on %d in epoch %d", leader.id, h.epoch)
	case h.agreed == 0 && w.now.Sub(h.since) > healingLimit+w.plan.Stall:
		if h.hopeless = !w.recoverable(); h.hopeless {
			h.done = true
			return
		}
		w.check.disagreement()
	}
	w.later(50*time.Millisecond, w.look)
}

func (w *World) over() bool {
	return w.healed != nil && w.healed.done || w.ruined != nil && w.ruined.over
}

// agreement is the one leader that every node of the core follows and whose
// committed log all of them have, or nil.
func (w *World) agreement() *node {
	var leader *node
	for _, n := range w.healed.core {
		if n.up && n.role == raft.RoleLeader && n.state.HighWatermark >= 0 {
			if leader != nil && leader.disk.election.Epoch >= n.disk.election.Epoch {
				continue
			}
			leader = n
		}
	}
	if leader == nil {
		return nil
	}
	want := leader.state
	for _, n := range w.healed.core {
		s := n.state
		if !n.up || s.Leader != leader.id || s.Election.Epoch != want.Election.Epoch ||
			s.HighWatermark != want.Log.End || s.Log != want.Log {
			return nil
		}
	}
	return leader
}
