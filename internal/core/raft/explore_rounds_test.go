package raft

import (
	"fmt"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Two voters are left of three, with equal logs. Each is told of the leader's death
// at any time or never, or its timer ends. Their rounds overlap as they like; what
// keeps them apart (rounds.go) is built on messages that are faster than d, so here a
// d is over only when everything has arrived. Then no order of what is left to chance
// splits the votes (B4), and when both have asked in an epoch, and all that they wait
// for is over, one of them leads (L4).

// orderly has times that keep rounds apart: d is an eighth of the election timeout.
// What they are in seconds has no influence; a power of two lets noChance draw.
func orderly() Timing {
	t := instantly()
	t.Election = 1 << 10
	return t
}

// longest is more than any time that rounds are kept apart for.
const longest = 600

// dawn is the time at the start: one that was never set has passed for long.
func (p *part) dawn() kafka.Instant {
	if p.rounds {
		return 1_000_000
	}
	return 1
}

// widow goes on to where node 1, which led, is gone.
func (s *scope) widow(state []byte) []byte {
	s.gone = 1
	s.tables.forget()
	return state[:headSize+4*s.nodes()]
}

// timerEnds: whoever follows the dead leader may give it up at any moment. The timer
// of a round is slower than messages, and than all that keeps rounds apart.
func (w *opened) timerEnds(p *part) bool {
	_, follows := p.core.role.(*follower)
	return !w.led() && (follows || w.atRest() && p.keptApart() == kafka.Never)
}

// keptApart is when something is over that keeps a round of the part apart from
// others, or Never.
func (p *part) keptApart() kafka.Instant {
	c, next := p.core, kafka.Never
	r, asks := c.role.(*prospective)
	if !asks {
		if v := c.rivals; max(v.refused, v.behind, v.granted) > 0 {
			next = c.now.Add(longest) // it forgets
		}
		return next
	}
	for _, at := range []kafka.Instant{r.begins, r.young(c), r.free(c)} {
		if at > c.now {
			next = min(next, at)
		}
	}
	return next
}

// wait lets that be over.
func (p *part) wait(h *happened) {
	p.core.now = p.keptApart()
	p.core.due = p.core.now
	p.anyTime()
	p.step(Passed{}, envelope{}, h)
}

// forgetRounds drops what is too old to keep rounds apart.
func (p *part) forgetRounds() {
	c := p.core
	c.rivals.forget(c.now)
	if r, asks := c.role.(*prospective); asks {
		r.begins = max(r.begins, c.now-longest)
		r.rivals.forget(c.now)
	}
}

func (v *rivals) forget(now kafka.Instant) {
	for _, at := range []*kafka.Instant{&v.refused, &v.behind, &v.granted} {
		if *at+longest <= now {
			*at = 0
		}
	}
}

// rounds writes how long ago it was that other rounds were heard of.
func (k *canon) rounds(c *Core) {
	ages := []kafka.Instant{c.rivals.refused, c.rivals.behind, c.rivals.granted}
	if r, asks := c.role.(*prospective); asks {
		ages = append(ages, r.begins, r.rivals.refused, r.rivals.behind, r.rivals.granted)
	}
	for _, at := range ages {
		if at == 0 {
			k.int(-1)
			continue
		}
		k.int(int64(c.now - at + longest))
	}
}

// roundsAfter notes who has begun a round when node i has taken a step.
func (w *opened) roundsAfter(i int, o *outcomeOf) uint8 {
	before, after := w.node(i).core, (*w.s.parts.at(o.part)).core
	_, asked := before.role.(*prospective)
	_, asks := after.role.(*prospective)
	if asked || !asks {
		return w.turns
	}
	return w.turns | 1<<i
}

// disordered names the rule if both stand in one epoch, or nobody leads where somebody
// has to.
func (w *opened) disordered() string {
	two, three := w.node(1).core, w.node(2).core
	if two.role.name() == RoleCandidate && three.role.name() == RoleCandidate && two.election.Epoch == three.election.Epoch {
		return fmt.Sprintf("B4: both stand in epoch %d, and split its votes", two.election.Epoch)
	}
	const both = 1<<1 | 1<<2
	if w.turns != both || !w.atRest() || w.led() {
		return ""
	}
	for i := range w.s.nodes() {
		if p := w.node(i); p.id != w.s.gone && p.core.role.name() == RoleProspective && p.keptApart() != kafka.Never {
			return "" // a round is about to begin, or to be won
		}
	}
	return "L4: both have asked, everything has arrived, and nobody leads"
}
