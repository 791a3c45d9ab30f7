package raft

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// State is what a node knows and is, after a step.
type State struct {
	Role     Role
	Voter    bool // in the voter set in effect
	Election Election
	// Leader is NoNode when not known, and while a former leader has resigned:
	// it must not tell its own users that it leads.
	Leader          kafka.NodeID
	LeaderEndpoints Endpoints
	// EpochStart is where the epoch began that this node leads; -1 when it does
	// not lead.
	EpochStart    kafka.Offset
	HighWatermark kafka.Offset // -1 while it is not known
	LogStart      kafka.Offset
	Log           Position // of what was asked to be written
	Voters        Voters   // in effect, committed or not
	// VoterChange: this node leads, and the voters in effect are not committed yet.
	VoterChange bool
	Level       int16 // kraft.version in effect
	// LatestSnapshot is the zero id when there is none but that of format time.
	LatestSnapshot SnapshotID
}

// State tells what the node knows and is.
func (c *Core) State() State {
	s := State{
		Role: c.role.name(), Voter: c.quorum.member(), Election: c.election, EpochStart: kafka.NoOffset,
		HighWatermark: c.hw, LogStart: c.log.start, Log: c.log.position(), Voters: c.quorum.voters(), Level: c.quorum.level(),
	}
	s.Leader, s.LeaderEndpoints = c.role.leader()
	l, leads := c.role.(*leader)
	if leads {
		s.EpochStart = l.start
		s.VoterChange = c.quorum.changing(c.hw)
	} else if s.Leader == c.cfg.Self.Node {
		s.Leader, s.LeaderEndpoints = kafka.NoNode, nil
	}
	if latest, ok := c.log.latestSnapshot(); ok {
		s.LatestSnapshot = latest.ID
	}
	return s
}

// Timer tells when the timer of the role ends: the wait for the leader or for an
// election, the check of a leader's quorum, or, in a round that was begun while
// another timer ran, that one. A pre-vote of our own epoch does not move it (KIP-996).
func (c *Core) Timer() kafka.Instant {
	switch r := c.role.(type) {
	case *follower:
		return r.expires
	case *prospective:
		if r.resume != 0 {
			return r.resume
		}
		return r.expires
	case *candidate:
		return r.expires
	case *leader:
		return r.quorum.expires
	case *resigned:
		return r.expires
	case *unattached:
		return r.expires
	}
	return kafka.Never
}

// VotesLost tells that this node does not know all that it has voted, and refuses
// votes for that. The next start on this disk has to know, see Stored.Forgotten. It
// changes with nothing but an election state, so it is to be durable as true before,
// and as false no sooner than, the state that the same step asks for.
func (c *Core) VotesLost() bool { return c.lost.last(c.election) }

// Shape gives the voter set and the kraft.version that were in effect with the
// last record below end: what a snapshot with that end offset holds. set is nil
// when the log never held one.
func (c *Core) Shape(end kafka.Offset) (set Voters, level int16) {
	voters, _ := c.log.voters.at(end - 1)
	levels, _ := c.log.levels.at(end - 1)
	return voters.Value, levels.Value
}

// Snapshots are the finished snapshots on our disk, in order.
func (c *Core) Snapshots() []Snapshot { return slices.Clone(c.log.snapshots) }

// CanSnapshot tells whether records below id.EndOffset may be replaced by a
// snapshot: they are in the log, committed, and id names the epoch of the last.
func (c *Core) CanSnapshot(id SnapshotID) bool {
	if id.EndOffset < c.log.start || id.EndOffset > c.hw {
		return false
	}
	fits, _ := c.log.validate(id.EndOffset, id.Epoch)
	return fits == valid
}

// Finished tells whether a node that was asked to shut down may stop now.
func (c *Core) Finished() bool {
	switch {
	case c.dead:
		return true
	case c.closing == nil:
		return false
	case !c.quorum.member() || c.quorum.alone() || c.now >= c.closing.Until:
		return true
	}
	id, _ := c.role.leader()
	return id >= 0 && id != c.cfg.Self.Node
}

// committed is what is certainly committed: up to the high watermark, and what
// our latest snapshot holds.
func committed(c *Core) kafka.Offset {
	if s, ok := c.log.latestSnapshot(); ok {
		return max(c.hw, s.ID.EndOffset)
	}
	return c.hw
}

// mayStand tells whether this node may begin an election round.
func mayStand(c *Core) bool {
	return c.quorum.electable(c.hw) && c.closing == nil && c.installing == 0 && hasNext(c)
}

// hasNext tells whether there is an epoch left to stand in.
func hasNext(c *Core) bool { return c.election.Epoch <= lastEpoch-c.lost.stride() }

// leads tells whether this node leads the current epoch.
func (c *Core) leads() bool {
	_, leads := c.role.(*leader)
	return leads
}

// hint is what every answer tells. A leader hands out its own listeners.
func (c *Core) hint() Hint {
	if id, _ := c.role.leader(); id == c.cfg.Self.Node && id >= 0 {
		return Hint{Epoch: c.election.Epoch, Leader: id, Endpoints: c.cfg.Endpoints}
	}
	id, at := c.leaderListeners()
	return Hint{Epoch: c.election.Epoch, Leader: id, Endpoints: at}
}

// leaderListeners are the addresses of the leader that were told, and for listeners
// of which nothing was told those of the voter set: an answer names the address on
// the listener it was asked on, and no other.
func (c *Core) leaderListeners() (kafka.NodeID, Endpoints) {
	id, at := c.role.leader()
	told := len(at)
	for _, e := range c.quorum.voters().endpoints(id) {
		if _, known := at[:told].Named(e.Name); !known {
			at = append(at[:len(at):len(at)], e)
		}
	}
	return id, at
}
