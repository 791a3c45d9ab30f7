package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// ruin is the other end of a run: instead of a majority that is repaired there is
// none any more. Disks of so many voters are lost that no set of voters that may
// yet come to hold, also by one more change, has a majority of them. Nothing can be asked of what is left but
// that it stops safely: nobody leads, nothing is committed, and what was committed
// is not called something else (the rules of safety hold on).
type ruin struct {
	since   kafka.Instant
	entered int         // batches in the ledger when the last that was under way had come
	newest  kafka.Epoch // with a leader, then
	over    bool
}

const (
	// settles is in how long all that was under way when disks were lost has come:
	// votes of a voter that has lost its disk since may still elect somebody.
	settles = 3 * time.Second
	// watched is for how long nothing may come of what is left.
	watched = 25 * time.Second
)

// destroy ends the chaos by the loss of disks. A voter of the log comes back with
// an empty one, and another directory id; a static voter has nothing to start from.
func (w *World) destroy() {
	w.chaos = false
	w.ruined = &ruin{since: w.now}
	w.note("-- disks are lost for good")
	for _, n := range w.nodes {
		for _, o := range w.nodes {
			*w.link(n, o) = link{}
		}
	}
	for _, i := range w.rng.Perm(w.plan.controllers()) {
		if n := w.nodes[i]; w.salvageable() || w.rng.IntN(2) == 0 {
			n.crash("and its disk is lost")
			w.gone[n.cfg.Self.Dir] = true
			w.wipe(n)
		}
	}
	for _, n := range w.nodes {
		n.slow = 0
		if !n.up && !n.stays() {
			n.boot()
		}
	}
	w.later(settles+w.plan.Stall, func() {
		w.ruined.entered, w.ruined.newest = len(w.check.ledger), w.check.newest
		w.watchRuin()
	})
}

// salvageable tells that some set of voters still has a majority of disks, or that
// one that a leader may make of it has.
func (w *World) salvageable() bool {
	mends := w.changesCome()
	for _, set := range w.sets() {
		left := w.intact(set, nil)
		if left >= set.Majority() || mends && w.mendable(set, left) {
			return true
		}
	}
	return false
}

// changesCome tells whether a leader may yet be asked to change the voters: by nodes
// that join by themselves, or by a client before the disks were lost.
func (w *World) changesCome() bool {
	asks := func(in inbound) bool {
		_, add := in.body.(raft.AddVoterRequest)
		return add
	}
	return w.plan.AutoJoin || slices.ContainsFunc(w.nodes, func(n *node) bool {
		return n.up && slices.ContainsFunc(slices.Collect(maps.Values(n.asked)), asks)
	})
}

// mendable tells whether one change of a set, of whose voters so many have their
// disk, makes one that has its majority: that is all that such a change waits for. Of
// two changes the first has to be committed. A leader that has lost its majority has
// 1.5 F for it:
//
//  1. 2 leads voters 1 and 2, and the disk of 1 is lost.
//  2. 3 joins. 2 and 3 are a majority of 1, 2 and 3, and commit that.
func (w *World) mendable(set raft.Voters, left int) bool {
	more, less := len(set)+1, len(set)-1
	joins := len(set) < w.plan.controllers() && left+1 >= more/2+1
	leaves := left < len(set) && left > 0 && left >= less/2+1
	return joins || leaves
}

// watchRuin looks again and again at what is left.
func (w *World) watchRuin() {
	r, c := w.ruined, &w.check
	c.must(len(c.ledger) == r.entered, Ruin, "without a majority of disks something is committed at %d", c.ledger.end(0))
	c.must(c.newest == r.newest, Ruin, "without a majority of disks somebody leads epoch %d", c.newest)
	for _, n := range w.nodes {
		idle := w.now.Sub(max(r.since, n.until)) >= givesUp+w.plan.Stall
		c.must(!idle || !n.up || n.role != raft.RoleLeader, Ruin, "node %d still leads, %v after disks were lost", n.id, w.now.Sub(r.since))
	}
	if r.over = w.now.Sub(r.since) >= settles+w.plan.Stall+watched; !r.over {
		w.later(50*time.Millisecond, w.watchRuin)
	}
}
