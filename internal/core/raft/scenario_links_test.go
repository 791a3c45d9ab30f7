package raft

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// Commands about links and time, for scenarios in which nobody delivers each
// message by hand:
//
//	cut ID | cut A-B | cut A->B    nothing passes between a node and all others,
//	        between two, or one way between two
//	mend | mend A-B     all links pass again, or those between two
//	old ID              the node knows Vote up to version 1 only, and of version
//	        0 it sends what that has: no voter and no directories
//	set ID f=DURATION   restarts it with another fetch timeout
//	twice A->B KIND     the oldest such message arrives two times
//	who [ID]            epoch and leader of each node, and who leads
//	still DURATION      time goes by and nobody acts
//	leads               who leads, and what of its log is committed
//	role ID             a node's role, epoch and log
func (w *world) links(a args) (known bool, err error) {
	switch a.words[0] {
	case "cut":
		w.cutLinks(a.words[1])
	case "mend":
		w.mendLinks(a.words[1:])
	case "old":
		w.node(a.id(1)).old = true
	case "set":
		m := w.node(a.id(1))
		m.cfg.Timing.Fetch, err = time.ParseDuration(a.pairs["f"])
		if err == nil {
			err = m.boot()
		}
	case "twice":
		e, err := w.pick(a)
		if err == nil {
			w.handOver(e)
			w.handOver(e)
		}
		return true, err
	case "still":
		d, err := time.ParseDuration(a.words[1])
		w.now = w.now.Add(d)
		return true, err
	case "role":
		m := w.node(a.id(1))
		c := m.core
		m.w.printf("%d: %s epoch=%d leader=%d log=%d@%d hw=%d", m.id, c.role.name(), c.election.Epoch, c.State().Leader, c.log.end, c.log.lastEpoch(), c.hw)
	case "leads":
		w.printLeaders()
	case "who":
		for _, m := range w.nodes {
			if len(a.words) == 1 || m.id == a.id(1) {
				m.who()
			}
		}
	default:
		return false, nil
	}
	return true, err
}

// cutLinks reads ID, A-B or A->B. What is under way there gets lost, too.
func (w *world) cutLinks(what string) {
	if w.cuts == nil {
		w.cuts = map[[2]kafka.NodeID]bool{}
	}
	a, b, two := strings.Cut(what, "-")
	from := kafka.NodeID(number(a))
	for _, m := range w.nodes {
		to := m.id
		if two && to != kafka.NodeID(number(strings.TrimPrefix(b, ">"))) || to == from {
			continue
		}
		w.cuts[[2]kafka.NodeID{from, to}] = true
		if !strings.HasPrefix(b, ">") {
			w.cuts[[2]kafka.NodeID{to, from}] = true
		}
	}
	w.net = slices.DeleteFunc(w.net, func(e envelope) bool { return w.cuts[[2]kafka.NodeID{e.from, e.to}] })
}

func (w *world) mendLinks(which []string) {
	if len(which) == 0 {
		w.cuts = nil
		return
	}
	a, b, _ := strings.Cut(which[0], "-")
	from, to := kafka.NodeID(number(a)), kafka.NodeID(number(b))
	delete(w.cuts, [2]kafka.NodeID{from, to})
	delete(w.cuts, [2]kafka.NodeID{to, from})
}

// speaksOld answers a pre-vote that one side of a connection does not know, and
// takes from a vote what version 0 does not carry.
func (w *world) speaksOld(e *envelope, to *member) (answered bool) {
	r, isVote := e.body.(VoteRequest)
	from := w.node(e.from)
	if !isVote || e.answer || from == nil || !from.old && !to.old {
		return false
	}
	if r.PreVote {
		w.answerWith(*e, kerr.UnsupportedVersion)
		return true
	}
	r.Voter, r.Candidate.Dir = NoVote, kafka.DirID{}
	e.body = r
	return false
}

func (m *member) who() {
	text := fmt.Sprintf("%d: epoch=%d leader=%d", m.id, m.core.election.Epoch, m.core.State().Leader)
	if m.core.leads() {
		text += " leads"
	}
	m.w.printf("%s", text)
}

func (w *world) printLeaders() {
	for _, m := range w.nodes {
		if m.core.leads() && !m.down {
			w.printf("%d leads epoch %d and has committed %d of %d", m.id, m.core.election.Epoch, m.core.hw, m.core.log.end)
		}
	}
}
