package raft

import (
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/explore"
)

// Bugs of the explorer's own tests: they spoil what a step came to.

// forgetsVotes has a node forget whom it voted for.
func forgetsVotes(_ *part, h *happened) {
	if e := &h.part.core.election; e.Leader < 0 && e.Voted.Node != h.part.id {
		e.Voted, h.part.file.Voted = NoVote, NoVote
	}
}

// promisesEarly sends what has to wait for the disk.
func promisesEarly(_ *part, h *happened) {
	for _, m := range h.part.held {
		h.part.send(m.Message, envelope{}, h)
	}
	h.part.held = nil
}

// commitsAlone has a leader take what it has appended for committed.
func commitsAlone(_ *part, h *happened) {
	if l, leads := h.part.core.role.(*leader); leads {
		l.hw, h.part.core.hw = h.part.core.log.end, h.part.core.log.end
	}
}

// settlesAtOnce takes a change of the voters for committed when it is appended.
func settlesAtOnce(before *part, h *happened) {
	c := h.part.core
	was, _ := before.core.log.votersAtEnd()
	now, _ := c.log.votersAtEnd()
	if l, leads := c.role.(*leader); leads && before.core.leads() && now.Offset > was.Offset {
		l.hw, c.hw = c.log.end, c.log.end
	}
}

// waitsForTheTimer has a voter forget that a round is to begin.
func waitsForTheTimer(_ *part, h *happened) { h.part.core.longer.due = kafka.Never }

// keepsItsName has a node that lost its disk go on under the directory's old id.
func keepsItsName(before *part, h *happened) {
	if p := h.part; p.core.cfg.Self != before.core.cfg.Self {
		p.core.cfg.Self, p.core.quorum.self = before.core.cfg.Self, before.core.cfg.Self
	}
}

// knowsNoRivals has a voter take its round for the only one.
func knowsNoRivals(_ *part, h *happened) {
	if r, asks := h.part.core.role.(*prospective); asks {
		r.rivals, r.alone = rivals{}, true
	}
}

// forgetsTheDeath has a voter forget that it has acted on proof.
func forgetsTheDeath(_ *part, h *happened) { h.part.core.mourned = noMourning }

// insistsForEver has a voter forget that it has insisted on its round.
func insistsForEver(_ *part, h *happened) {
	if m := &h.part.core.mourned; m.spent {
		m.spent, m.from = false, 0
	}
}

// bugOf is one that a scope has to find.
func bugOf(s scope) func(*part, *happened) {
	switch {
	case s.rounds:
		return knowsNoRivals
	case s.bounds[proofs] > 0 && s.since > 0:
		return forgetsTheDeath
	case s.bounds[proofs] > 0:
		return insistsForEver
	case s.longer != 0:
		return waitsForTheTimer
	case s.mute:
		return forgetsVotes
	case s.bounds[losses] > 0:
		return keepsItsName
	case s.dynamic:
		return settlesAtOnce
	case s.atOnce:
		return commitsAlone
	}
	return promisesEarly
}

// Every scope finds a bug that was planted in it, so it can fail.
func TestEveryScopeFindsItsPlantedBug(t *testing.T) {
	small, large := scopes()
	for _, sc := range slices.Concat(small, large) {
		sc.bug = bugOf(sc)
		s := newScope(sc)
		found := explore.All(s, explore.Limits{States: 1_000_000})
		if found.Broken == nil {
			t.Errorf("%s: nothing is found in %v", s.name, found)
			continue
		}
		t.Logf("%s: %v, after %d steps, in %d states", s.name, found.Broken, len(found.Path), found.States)
	}
}
