package raft

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
)

// A process that led has ended, and each of its followers may get proof of that at
// any time, or never (B3). A scope in which this happens holds the core to what proof
// allows: with it a voter asks at once, once in an epoch, and once more when it
// insists. Until its timer ends, a round that was refused asks nobody a second time.
// Half of F after the proof, before which nobody insists, ends at any moment, as all
// times do.

// early is what the explorer itself keeps of the rounds of a part that have not
// waited for a timer.
type early struct {
	asked    kafka.Epoch // on proof
	half     kafka.Epoch // in which half of F has passed since
	insisted kafka.Epoch
}

var notEarly = early{kafka.NoEpoch, kafka.NoEpoch, kafka.NoEpoch}

// mourn notes that the process of a node has ended: from now on its followers may be
// told, of each epoch that it led.
func (s *scope) mourn(id uint16, of kafka.NodeID) uint16 {
	if s.bounds[proofs] == 0 {
		return id
	}
	h := *s.pasts.at(uint32(id))
	for e, leader := range h.led {
		if leader == int8(of) {
			h.died |= 1 << e
		}
	}
	return s.past(h)
}

// deaths are the steps that proof of a death brings.
func (w *opened) deaths(p *part, list []actOf) []actOf {
	h, mine := w.s.pasts.at(uint32(w.past)), p.core.election.Epoch
	f, follows := p.core.role.(*follower)
	if follows && w.spent[proofs] < w.s.bounds[proofs] && (f.id == w.s.gone || h.died>>mine&1 == 1) {
		list = append(list, actOf{act: actProof})
	}
	for e := range mine {
		if h.died>>e&1 == 1 {
			list = append(list, actOf{actStale, uint32(e)<<8 | uint32(h.led[e])})
		}
	}
	if p.early.asked == mine && p.early.half != mine {
		list = append(list, actOf{act: actHalf})
	}
	if p.rounds && w.atRest() && p.keptApart() != kafka.Never {
		list = append(list, actOf{act: actD})
	}
	return list
}

// told hands proof to the part.
func (p *part) told(leader kafka.NodeID, epoch kafka.Epoch, h *happened) {
	p.step(Dead{Leader: leader, Epoch: epoch}, envelope{}, h)
}

// halfPasses lets half of F end.
func (p *part) halfPasses(h *happened) {
	p.early.half = p.core.election.Epoch
	p.core.mourned.from = p.core.now
	p.step(Passed{}, envelope{}, h)
}

// mayYetInsist tells whether a round of another voter can still make this one insist,
// even one whose asker waits no more. In even epochs none may; there the asker waits.
func (p *part) mayYetInsist() bool {
	mine := p.core.election.Epoch
	return p.deaths && mine%2 == 1 && p.early.insisted != mine
}

// forgetDeaths drops what is remembered of an epoch that is over, and has half of F
// end only when a step says so.
func (p *part) forgetDeaths() {
	c := p.core
	if !p.deaths {
		return
	}
	switch m := &c.mourned; {
	case m.epoch != c.election.Epoch:
		*m = noMourning
	case m.from > c.now || m.spent:
		m.from = kafka.Never
	}
	if p.rounds {
		p.forgetRounds()
	}
}

// early writes what the explorer keeps.
func (k *canon) early(p *part) {
	if !p.deaths {
		return
	}
	for _, e := range []kafka.Epoch{p.early.asked, p.early.half, p.early.insisted} {
		k.value(reflect.ValueOf(e == p.core.election.Epoch))
	}
	if p.rounds {
		k.rounds(p.core)
	}
}

// roundTooSoon is B3: who asks by itself, and not because its time has ended, has
// proof that it has not yet used, or insists. Proof of an epoch that is over changes
// nothing.
func (s *scope) roundTooSoon(before *part, h happened, act int, arg uint32) string {
	p, epoch := h.part, before.core.election.Epoch
	if act == actStale && (len(h.sent) > 0 || p.key() != before.key()) {
		return fmt.Sprintf("B3: node %d acts on the death of who led epoch %d", p.id, arg>>8)
	}
	if !asksAround(h.sent) {
		return ""
	}
	switch act {
	case actProof:
		if p.early.asked == epoch {
			return fmt.Sprintf("B3: node %d asks once more because of the same death", p.id)
		}
		p.early.asked = epoch
	case actDeliver:
		switch r := s.messages.at(arg).body.(type) {
		case EndRequest: // who is named first stands at once (B5)
		case VoteRequest:
			if r.PreVote {
				return p.insistsTooSoon(before, r)
			}
		default:
			return fmt.Sprintf("B3: node %d asks a second time before its time", p.id)
		}
	}
	return ""
}

// asksAround tells whether pre-votes are asked for.
func asksAround(sent []envelope) bool {
	for _, e := range sent {
		if r, asks := e.body.(VoteRequest); asks && r.PreVote && !e.answer {
			return true
		}
	}
	return false
}

// insistsTooSoon names what is wrong with a round that began because another voter
// asked, or notes it.
func (p *part) insistsTooSoon(before *part, r VoteRequest) string {
	epoch, log := before.core.election.Epoch, before.core.log.durablePosition()
	wrong := ""
	switch {
	case p.early.asked != epoch:
		wrong = "without proof"
	case epoch%2 == 0:
		wrong = "in an even epoch"
	case p.early.insisted == epoch:
		wrong = "a second time"
	case p.early.half != epoch:
		wrong = "before half of F"
	case log != Position{r.LastEpoch, r.End}:
		wrong = "against a log that is not equal"
	case !before.roundIsLost(r.Candidate.Node):
		wrong = "and its round is not lost"
	}
	if wrong != "" {
		return fmt.Sprintf("B3: node %d insists %s", p.id, wrong)
	}
	p.early.insisted = epoch
	return ""
}

// roundIsLost tells whether the part has no round under way that an asker could grant.
func (p *part) roundIsLost(asker kafka.NodeID) bool {
	r, asks := p.core.role.(*prospective)
	return !asks || r.tally.refusedBy(asker)
}

// tellDeath is one line of a story.
func tellDeath(out *strings.Builder, step uint32) {
	i, arg := step>>24&15+1, step&0xffffff
	switch step >> 28 {
	case actProof:
		fmt.Fprintf(out, "%d is told that its leader is dead\n", i)
	case actStale:
		fmt.Fprintf(out, "%d is told that %d is dead, which led epoch %d\n", i, arg&255, arg>>8)
	case actHalf:
		fmt.Fprintf(out, "half of F has passed since %d was told\n", i)
	case actD:
		fmt.Fprintf(out, "%d has waited for rounds of others\n", i)
	}
}
