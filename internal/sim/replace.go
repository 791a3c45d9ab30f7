package sim

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// moving tells that who votes may change in a run: by request, or because a disk
// is replaced, or lost.
func (p *Plan) moving() bool { return p.ReshapeEvery > 0 || p.Active[DiskLost] || p.Ruined }

// loseDisk lets a voter come back with an empty disk and a new directory id, if
// the quorum can be repaired without the old one. false when it cannot.
func (w *World) loseDisk(n *node) bool {
	if !w.plan.Dynamic || !n.cfg.Controller || !w.spares(n) {
		return false
	}
	n.crash("and its disk is lost")
	w.gone[n.cfg.Self.Dir] = true
	w.wipe(n)
	return true
}

// reformat lets a node that has no vote begin anew.
func (w *World) reformat(n *node) bool {
	if n.cfg.Controller {
		return false
	}
	n.crash("to be formatted again")
	w.wipe(n)
	return true
}

// wipe makes the disk of a node that is down one that was just formatted.
func (w *World) wipe(n *node) {
	w.wiped++
	n.cfg.Self.Dir = kafka.DirID{0: 0xd, 13: byte(w.wiped >> 8), 14: byte(w.wiped), 15: byte(n.id)}
	n.disk = disk{election: raft.NoElection(), noFile: true}
	n.findsQuorum()
	w.check.wiped(n)
	w.note("-- %d has directory %v now", n.id, n.cfg.Self.Dir)
}

// findsQuorum makes a node one that asks addresses for its quorum.
func (n *node) findsQuorum() {
	if n.cfg.Bootstrap != nil {
		return
	}
	for i := range n.w.plan.controllers() {
		n.cfg.Bootstrap = append(n.cfg.Bootstrap, endpointsOf(kafka.NodeID(i+1))...)
	}
}

// spares tells whether every set of voters that may yet come to hold has a
// majority whose disks are there, also without a node that is in all of them.
func (w *World) spares(n *node) bool {
	for _, set := range w.sets() {
		if !set.Contains(n.cfg.Self) || w.intact(set, n) < set.Majority() {
			return false
		}
	}
	return true
}

// recoverable tells whether every set that may come to hold still has a majority
// of disks.
func (w *World) recoverable() bool {
	for _, set := range w.sets() {
		if w.intact(set, nil) < set.Majority() {
			return false
		}
	}
	return true
}

// intact counts the voters whose disk is the one that the set names, but one.
func (w *World) intact(set raft.Voters, but *node) (count int) {
	for _, v := range set {
		if n := w.node(v.Key.Node); n != but && v.Key.Matches(n.cfg.Self) {
			count++
		}
	}
	return count
}

// sets are the last committed set of voters and all later ones in any log.
func (w *World) sets() []raft.Voters {
	from, all := kafka.NoOffset, []raft.Voters{voterSet(w.plan)}
	for _, b := range w.check.ledger {
		if b.voters != nil {
			from, all[0] = b.base, b.voters
		}
	}
	for _, n := range w.nodes {
		for _, log := range []batches{n.whole(), n.disk.durable} {
			for _, b := range log {
				if b.voters != nil && b.base > from {
					all = append(all, b.voters)
				}
			}
		}
	}
	return all
}
