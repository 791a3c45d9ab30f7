package sim

import (
	"math"
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
	least   kafka.Offset  // all that every node of the core had then
	led     kafka.Instant // when all followed one leader last
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
	// healingLimit is in how long all of a repaired quorum have to follow one
	// leader, and how long at most they may be without one again. A check of
	// the quorum, a fetch timeout and ten elections of twice their timeout are
	// 1.5 x 2 + 2 + 10 x 2 seconds; clocks may be a fifth too slow. A disk that
	// stalls may go on doing so for its time. To have equal logs, who is behind
	// has time to catch up besides.
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
	h := &healing{since: w.now, led: w.now, whole: w.rng.IntN(2) == 0, outside: pick(w.rng, "down", "cut", "deaf", "mute")}
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
	h.least = kafka.Offset(math.MaxInt64)
	for _, n := range h.core {
		h.least = min(h.least, n.disk.durable.end(n.disk.start))
	}
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
	if w.followed() != nil {
		h.led = w.now
	}
	switch leader := w.agreement(); {
	case h.agreed != 0:
		w.check.calm(h.epoch)
	case h.agreed == 0 && leader != nil:
		h.agreed, h.epoch = w.now, leader.disk.election.Epoch
		w.check.agreed()
		w.note("-- all agree on %d in epoch %d", leader.id, h.epoch)
	case w.late():
		if h.hopeless = !w.recoverable(); h.hopeless {
			h.done = true
			return
		}
		w.check.disagreement()
	}
	w.later(50*time.Millisecond, w.look)
}

// late tells that the core has been without a leader for longer than it may (L1,
// L4), or that it took too long until all had the same (L8). Who is behind in its log
// follows a leader all the same, so that what it has to fetch extends the second limit
// alone. And who is taken to a later epoch (see heardAbove) has had a leader until
// then.
func (w *World) late() bool {
	limit := healingLimit + w.plan.Stall
	return w.now.Sub(w.healed.led) > limit || w.now.Sub(w.healed.since) > limit+w.catchUp()
}

// catchUp is how long the last node of the core takes at most to fetch what it
// lacked when it was healed and what has come since, committed or not: an answer
// brings so many batches, none without a record, and the next request waits for
// their sync.
func (w *World) catchUp() time.Duration {
	most := w.healed.least
	for _, n := range w.healed.core {
		most = max(most, n.disk.durable.end(n.disk.start))
	}
	answers := int(most-w.healed.least) / w.plan.Batches
	return time.Duration(answers) * (2*w.longestDelay() + writeTime + longestSync)
}

func (w *World) over() bool {
	return w.healed != nil && w.healed.done || w.ruined != nil && w.ruined.over
}

// followed is the one leader that every node of the core follows, or nil.
func (w *World) followed() *node {
	var leader *node
	for _, n := range w.healed.core {
		if n.up && n.role == raft.RoleLeader {
			if leader != nil && leader.disk.election.Epoch >= n.disk.election.Epoch {
				continue
			}
			leader = n
		}
	}
	if leader == nil {
		return nil
	}
	for _, n := range w.healed.core {
		follows := n == leader || n.role == raft.RoleFollower
		if !n.up || !follows || n.state.Leader != leader.id || n.state.Election.Epoch != leader.state.Election.Epoch {
			return nil
		}
	}
	return leader
}

// agreement is the leader that every node of the core follows and whose committed
// log all of them have, or nil.
func (w *World) agreement() *node {
	leader := w.followed()
	if leader == nil || leader.state.HighWatermark < 0 {
		return nil
	}
	want := leader.state
	for _, n := range w.healed.core {
		if n.state.HighWatermark != want.Log.End || n.state.Log != want.Log {
			return nil
		}
	}
	if w.heardAbove(want.Election.Epoch) {
		return nil
	}
	return leader
}

// heardAbove tells whether somebody outside the core can be heard there who has
// come to an epoch above one: a candidate that a majority had granted its round,
// and that comes back as what it was. It takes the core to its epoch (P3). Who cannot
// be heard any more may have sent something before that is still under way.
func (w *World) heardAbove(epoch kafka.Epoch) bool {
	if w.healed.outside != "deaf" && w.now >= w.underWay {
		return false
	}
	for _, n := range w.nodes[:w.plan.Voters] {
		if !w.healed.has(n) && n.disk.election.Epoch > epoch {
			return true
		}
	}
	return false
}
