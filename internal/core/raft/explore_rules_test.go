package raft

import (
	"fmt"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// remember adds to the past what a node shows after its step, and names the rule
// that this breaks.
func (w *opened) remember(i int, id uint32) (uint16, string) {
	s, p, h := w.s, *w.s.parts.at(id), w.s.pasts.at(uint32(w.past))
	var next past
	changed := false
	if e := p.core.election; e.Leader >= 0 && h.led[e.Epoch] != int8(e.Leader) {
		if h.led[e.Epoch] >= 0 {
			return 0, fmt.Sprintf("R1: node %d has %d as leader of epoch %d, others have %d", p.id, e.Leader, e.Epoch, h.led[e.Epoch])
		}
		next = *h
		next.led[e.Epoch], changed = int8(e.Leader), true
		h = &next
	}
	commit := min(p.core.hw, p.core.log.written)
	for n, b := range p.written {
		if b.end > commit {
			break
		}
		if n < len(h.ledger) {
			if !sameBatch(h.ledger[n], b) {
				return 0, fmt.Sprintf("R4: node %d has %d..%d@%d committed, others have epoch %d there", p.id, b.base, b.end, b.epoch, h.ledger[n].epoch)
			}
			continue
		}
		voters := p.core.quorum.voters()
		if have := w.copies(i, id, voters, n, b); have < voters.Majority() {
			return 0, fmt.Sprintf("R6: node %d commits %d..%d@%d, which %d of %d voters have on disk", p.id, b.base, b.end, b.epoch, have, len(voters))
		}
		next, changed = *h, true
		next.ledger = append(slices.Clip(next.ledger), b)
		h = &next
	}
	if p.core.leads() && newest(h.led) == p.core.election.Epoch && !holds(p, h.ledger) {
		return 0, fmt.Sprintf("R5: leader %d of epoch %d lacks what is committed", p.id, p.core.election.Epoch)
	}
	if !changed {
		return w.past, ""
	}
	return s.past(*h), ""
}

// copies counts the voters of a set that have a batch on their disk. One whose disk
// was destroyed counts: what it had promised is no rule any more.
func (w *opened) copies(i int, id uint32, voters Voters, n int, b stored) (have int) {
	for j := range w.s.nodes() {
		p := w.node(j)
		if j == i {
			p = *w.s.parts.at(id)
		}
		self := p.core.cfg.Self
		v, named := voters.Node(p.id)
		lost := named && v.Key != self && self.Dir == newDirOf(p.id)
		if lost || voters.Contains(self) && n < len(p.durable) && sameBatch(p.durable[n], b) {
			have++
		}
	}
	return have
}

// holds tells whether a node's log, as asked for, begins with the ledger.
func holds(p *part, ledger []stored) bool {
	log := p.written
	for _, o := range p.queue {
		log = o.do(log)
	}
	return len(log) >= len(ledger) && slices.EqualFunc(log[:len(ledger)], ledger, sameBatch)
}

func newest(led [8]int8) kafka.Epoch {
	for e := len(led) - 1; e > 0; e-- {
		if led[e] >= 0 {
			return kafka.Epoch(e)
		}
	}
	return 0
}

// preVoteLeftTraces is R10: a pre-vote of the receiver's own epoch changes nothing
// that lasts, and a leader and a follower that has fetched refuse it.
func preVoteLeftTraces(before *part, h happened, e envelope) string {
	r, asks := e.body.(VoteRequest)
	if !asks || !r.PreVote || r.Epoch != before.file.Epoch {
		return ""
	}
	if h.part.file != before.file {
		return fmt.Sprintf("R10: a pre-vote of its own epoch changes what node %d has on disk", h.part.id)
	}
	f, follows := before.core.role.(*follower)
	refuses := before.core.leads() || follows && f.fetched && !f.farewell && !f.gone
	for _, m := range h.sent {
		if a, ok := m.body.(VoteAnswer); ok && m.answer && a.Granted && refuses {
			return fmt.Sprintf("R10: node %d, which has a leader, grants a pre-vote", h.part.id)
		}
	}
	return ""
}

// breaks names the rule that a step of one node alone has broken.
func (p *part) breaks(before *part) string {
	e, f := p.core.election, before.file
	switch {
	case e != p.file:
		return fmt.Sprintf("R3: node %d has %s in memory and %s on disk", p.id, printElection(e), printElection(p.file))
	case p.core.cfg.Self != before.core.cfg.Self: // its disk is lost, and with it what it promised
	case p.file.Epoch < f.Epoch:
		return fmt.Sprintf("R2: the epoch of node %d falls from %d to %d", p.id, f.Epoch, p.file.Epoch)
	case p.file.Epoch == f.Epoch && f.hasVoted() && p.file.Voted != f.Voted:
		return fmt.Sprintf("R3: node %d voted for %d and %d in epoch %d", p.id, f.Voted.Node, p.file.Voted.Node, f.Epoch)
	}
	if _, stands := p.core.role.(*candidate); stands && (e.Leader >= 0 || e.Voted.Node != p.id) {
		return fmt.Sprintf("R9: node %d stands in epoch %d, which %d leads, with a vote for %d", p.id, e.Epoch, e.Leader, e.Voted.Node)
	}
	return p.breaksOfVoters(before)
}

// breaksOfVoters are the rules about sets of voters: one change at a time (R11),
// who was removed leads no longer than until that is committed (R12), only voters
// stand, but for one that does not know its removal as committed (R9), and no
// directory votes twice (R16).
func (p *part) breaksOfVoters(before *part) string {
	last, dynamic := p.core.log.votersAtEnd()
	if !dynamic {
		return ""
	}
	l, leads := p.core.role.(*leader)
	was, _ := before.core.log.votersAtEnd()
	if leads && before.core.leads() && last.Offset > was.Offset {
		if was.Offset >= l.hw {
			return fmt.Sprintf("R11: leader %d appends voters at %d, and those at %d are not committed", p.id, last.Offset, was.Offset)
		}
		if n := len(last.Value) - len(was.Value); n < -1 || n > 1 {
			return fmt.Sprintf("R11: leader %d changes %d voters at once", p.id, n)
		}
	}
	if leads && !p.core.quorum.member() && last.Offset < l.hw {
		return fmt.Sprintf("R12: node %d leads, and its removal is committed", p.id)
	}
	switch p.core.role.(type) {
	case *prospective, *candidate:
		if !p.core.quorum.electable(p.core.hw) {
			return fmt.Sprintf("R9: node %d stands, and is no voter", p.id)
		}
	}
	dirs := map[kafka.DirID]bool{}
	for _, v := range last.Value {
		if dirs[v.Key.Dir] {
			return fmt.Sprintf("R16: node %d has voters with one directory", p.id)
		}
		dirs[v.Key.Dir] = true
	}
	return ""
}
