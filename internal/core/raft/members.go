package raft

import (
	"github.com/ottla/ottla/internal/base/kafka"
)

// members is the quorum as this node's log has it: who votes, and whether this
// node does.
type members struct {
	self   kafka.ReplicaKey
	static Voters // holds while the log has no set
	log    *logState
}

// voters is the set in effect: the last one in the log, committed or not, or
// the static one.
func (m *members) voters() Voters {
	if last, ok := m.log.votersAtEnd(); ok {
		return last.Value
	}
	return m.static
}

// changing tells whether the set in effect lies above what is known to be committed.
func (m *members) changing(highWatermark kafka.Offset) bool {
	last, ok := m.log.votersAtEnd()
	return ok && highWatermark >= 0 && last.Offset >= highWatermark
}

// level is the kraft.version in effect: 0 or 1.
func (m *members) level() int16 { return m.log.levelAtEnd() }

// member tells whether our key is in the voter set.
func (m *members) member() bool { return m.voters().Contains(m.self) }

// electable tells whether this node may stand for election: it is a voter, or
// the set that names it no more, and not a committed one as far as is known, has
// followed on one that did. Without it the set before might have no majority
// whose logs are not longer:
//
//  1. 1 and 2 vote. 1 leads, appends that 2 votes alone, and goes down.
//  2. 2 lacks a vote. 1 comes back, refuses 2, whose log is shorter, and is no
//     voter by its own log.
//
// Its own vote does not count then. Once it is known that the removal is
// committed it is over. (Apache Kafka has no such exception.)
func (m *members) electable(hw kafka.Offset) bool {
	last, ok := m.log.votersAtEnd()
	if m.member() || !ok || last.Offset < hw {
		return m.member()
	}
	before, ok := m.log.voters.at(last.Offset - 1)
	return ok && before.Value.Contains(m.self)
}

// alone tells whether we are the only voter.
func (m *members) alone() bool { return len(m.voters()) == 1 && m.member() }

// others calls f for each voter but ourselves.
func (m *members) others(f func(Voter)) {
	for _, v := range m.voters() {
		if !v.Key.Matches(m.self) {
			f(v)
		}
	}
}

// rank is our place among the voters other than a leader, by node id, rotated
// by the epoch so that the first place goes round (B4).
func (m *members) rank(leader kafka.NodeID, epoch kafka.Epoch) int {
	i, n := -1, 0 // our place, and how many there are
	for _, v := range m.voters() {
		if v.Key.Node == leader {
			continue
		}
		if v.Key.Node == m.self.Node {
			i = n
		}
		n++
	}
	if i < 0 {
		return 0
	}
	return (i + n - int(uint32(epoch)%uint32(n))) % n
}
