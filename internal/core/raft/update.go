package raft

import (
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
)

// updateVoter notes what a voter says of itself. With static voters the leader
// only remembers it, for the day on which they become dynamic. An address that
// is new is tried before it is written: if nobody can be reached at it, no
// later leader would find that voter (KAFKA-20661).
func updateVoter(c *Core, call Call, r UpdateVoterRequest) {
	if n := mayUpdate(c, r); n.code != kerr.None {
		n.tell(c, call, r)
		return
	}
	l := c.role.(*leader)
	v := Voter{Key: r.Voter, Endpoints: r.Endpoints, MinLevel: r.MinLevel, MaxLevel: r.MaxLevel}
	switch have := l.entry(c, r.Voter); {
	case have.equal(v):
		l.quorum.heard(c, r.Voter)
		no{}.tell(c, call, r)
	case c.quorum.level() < 1:
		l.told = l.told.With(v)
		l.quorum.heard(c, r.Voter)
		no{}.tell(c, call, r)
	case sameAddress(c, have, v):
		l.change = &change{call: call, request: r, voter: v}
		l.store(c)
	default:
		l.probe(c, call, r, v, updateProbe(c))
	}
}

// updateProbe is how long a leader tries the new address of a voter. That is short,
// because the voter does not fetch meanwhile.
func updateProbe(c *Core) time.Duration { return c.cfg.Timing.Fetch / 4 }

// updateLimit is when an update without answer counts as failed: later than the leader,
// which may try an address first, gives an answer.
func updateLimit(c *Core) time.Duration {
	return updateProbe(c) + max(c.cfg.Timing.Fetch/8, time.Millisecond)
}

func sameAddress(c *Core, a, b Voter) bool {
	x, _ := addressOf(c, a.Endpoints)
	y, _ := addressOf(c, b.Endpoints)
	return x == y
}

func mayUpdate(c *Core, r UpdateVoterRequest) no {
	if code := checkLeaderOnly(c, r.Epoch); code != kerr.None {
		return no{code: code}
	}
	for _, n := range []no{named(c, r.Voter), reachable(c, r.Endpoints)} {
		if n.code != kerr.None {
			return n
		}
	}
	level := c.quorum.level()
	if r.MinLevel < 0 || r.MaxLevel < r.MinLevel {
		return because(kerr.InvalidRequest, "kraft.version %d to %d is no range", r.MinLevel, r.MaxLevel)
	}
	l := c.role.(*leader)
	n := l.free()
	if n.code == kerr.None && level >= 1 {
		n = l.settledVoters(c)
		n.passes = true
	}
	switch {
	case n.code != kerr.None:
		return n
	case level < r.MinLevel || level > r.MaxLevel:
		return because(kerr.InvalidRequest, "voter %d supports kraft.version %d to %d, the quorum has %d", r.Voter.Node, r.MinLevel, r.MaxLevel, level)
	case l.entry(c, r.Voter).Key.Node != r.Voter.Node:
		return because(kerr.VoterNotFound, "there is no voter %d with directory %v", r.Voter.Node, r.Voter.Dir)
	}
	return no{}
}
