package raft

import "github.com/ottla/ottla/internal/base/kafka"

// Two voters are left of three, and one has a record that the other lacks: only it
// can win. Turn by turn, each may ask while the other refuses. What a scope of them
// shows (L4) is that nobody stays prospective, as long as messages are faster than
// timers: when everything has arrived, somebody leads, if since its leader is gone
//
//   - the one with the shorter log began a round after the other had begun one, and
//     that round is over (B6: to refuse the shorter log is the sign to start another
//     at once), or
//   - the one with the longer log began a round after the other had begun one,
//     which then has not fetched for long, and grants.
//
// Without B6 the first is not so: the shorter log asks in vain, again and again,
// until the other's timer ends.
const (
	shorterBegan    = 1 << iota // a round
	shorterInTurn               // and the other had begun one
	longerInTurn                // began a round after the other had
	turnsMustSettle = shorterInTurn | longerInTurn
)

// turnsAfter notes who has begun a round when node i has taken a step.
func (w *opened) turnsAfter(i int, o *outcomeOf) uint8 {
	s := w.s
	if s.gone == 0 {
		return 0
	}
	if s.rounds {
		return w.roundsAfter(i, o)
	}
	_, asked := w.node(i).core.role.(*prospective)
	_, asks := (*s.parts.at(o.part)).core.role.(*prospective)
	if asked || !asks {
		return w.turns
	}
	if kafka.NodeID(i+1) != s.longer {
		turns := w.turns | shorterBegan
		if other := w.node(int(s.longer) - 1).core; other.longer.lost || other.role.name() == RoleProspective {
			turns |= shorterInTurn
		}
		return turns
	}
	if w.turns&shorterBegan != 0 {
		return w.turns | longerInTurn
	}
	return w.turns
}

// pauses tells whether a round is to begin when a pause ends.
func (p *part) pauses() bool {
	switch p.core.role.(type) {
	case *follower, *unattached:
		return p.longer && p.core.longer.due != kafka.Never
	}
	return false
}

// atRest: nobody waits for an answer that can come.
func (w *opened) atRest() bool {
	for _, id := range w.messages {
		if w.s.messages.at(uint32(id)).call != 0 {
			return false
		}
	}
	return true
}

// led tells whether one of those that are left leads.
func (w *opened) led() bool {
	for i := range w.s.nodes() {
		if kafka.NodeID(i+1) != w.s.gone && w.node(i).core.leads() {
			return true
		}
	}
	return false
}

// timesEnd tells whether timers may end in a state. When messages are prompt they
// end when all have arrived, until somebody leads.
func (w *opened) timesEnd(p *part) bool {
	if w.s.rounds {
		return w.timerEnds(p)
	}
	return !w.s.prompt || w.atRest() && !w.led()
}

// stuck names the rule L4 if nobody leads where somebody has to.
func (w *opened) stuck() string {
	if w.s.rounds {
		return w.disordered()
	}
	if w.s.gone == 0 || !w.s.prompt || w.turns&turnsMustSettle == 0 || !w.atRest() || w.led() {
		return ""
	}
	if other := w.node(int(w.s.longer) - 1); other.pauses() || other.core.role.name() == RoleProspective {
		return "" // a round is about to begin, or to end
	}
	return "L4: both have asked in turn, everything has arrived, and nobody leads"
}
