package raft

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// noVoter is the entry of a voter that is not there.
var noVoter = Voter{Key: NoVote}

// entry is what the leader has of a voter. Static voters are known by their ids
// alone.
func (l *leader) entry(c *Core, key kafka.ReplicaKey) Voter {
	set := l.told
	if c.quorum.level() >= 1 {
		set = c.quorum.voters()
	}
	if v, ok := set.Node(key.Node); ok && (c.quorum.level() < 1 || v.Key == key) {
		return v
	}
	return noVoter
}

// itself is our own entry in a voter set.
func (c *Core) itself() Voter {
	return Voter{Key: c.cfg.Self, Endpoints: c.cfg.Endpoints, MinLevel: 0, MaxLevel: maxLevel}
}

// raise turns static voters into dynamic ones: kraft.version 1 and the set, as
// the voters told it, go into the log in one batch (KAFKA-16538).
func raise(c *Core, r RaiseRequest) ChangeAnswer {
	n := mayRaise(c, r)
	if n.code != kerr.None || r.Ask || r.Level == c.quorum.level() {
		return ChangeAnswer{Err: n.code, Why: n.why}
	}
	l := c.role.(*leader)
	base, set, level := c.log.end, l.told, r.Level
	c.log.levels.add(At[int16]{base, level})
	c.log.voters.add(At[Voters]{base + 1, set})
	l.write(c, Append{Base: base, End: base + 2, Control: &Control{Level: &level, Set: set}})
	l.quorum.restart(c)
	l.told = nil
	return ChangeAnswer{}
}

func mayRaise(c *Core, r RaiseRequest) no {
	level := c.quorum.level()
	if code := checkLeaderOnly(c, r.Epoch); code != kerr.None {
		return no{code: code}
	}
	l := c.role.(*leader)
	switch {
	case r.Level == level:
		return no{}
	case r.Level < level || r.Level > maxLevel:
		return because(kerr.InvalidUpdateVersion, "kraft.version cannot go from %d to %d", level, r.Level)
	case l.hw < 0:
		return because(kerr.RequestTimedOut, "nothing is committed in this epoch yet")
	}
	for _, v := range l.told {
		if v.Key.Dir == (kafka.DirID{}) {
			return because(kerr.InvalidUpdateVersion, "voter %d has not told the leader its directory yet", v.Key.Node)
		}
		if r.Level < v.MinLevel || r.Level > v.MaxLevel {
			return because(kerr.InvalidUpdateVersion, "voter %d supports kraft.version %d to %d", v.Key.Node, v.MinLevel, v.MaxLevel)
		}
	}
	return no{}
}
