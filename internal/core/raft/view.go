package raft

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Role tells what the node is at the moment.
func (c *Core) Role() Role { return c.role.name() }

// Election is the state that the disk holds, or will hold before anything of
// the last step is sent.
func (c *Core) Election() Election { return c.election }

// Leader tells who leads the current epoch as far as known. A node that has
// resigned names nobody, so that it does not tell its own users that it leads.
func (c *Core) Leader() (kafka.NodeID, Endpoints) {
	id, at := c.role.leader()
	if _, leads := c.role.(*leader); id == c.cfg.Self.Node && !leads {
		return kafka.NoNode, nil
	}
	return id, at
}

// EpochStart is where the epoch we lead began; ok is false when we do not lead.
func (c *Core) EpochStart() (start kafka.Offset, ok bool) {
	l, ok := c.role.(*leader)
	if !ok {
		return kafka.NoOffset, false
	}
	return l.start, true
}

// LogEnd is one past the last record that was asked to be written.
func (c *Core) LogEnd() Position { return c.log.position() }

// LogStart is the first offset of the log.
func (c *Core) LogStart() kafka.Offset { return c.log.start }

// HighWatermark is -1 while it is not known.
func (c *Core) HighWatermark() kafka.Offset { return c.hw }

// Voters is the voter set in effect: the last one in the log, committed or
// not, or the static one.
func (c *Core) Voters() Voters {
	if last, ok := c.log.voters.last(); ok {
		return last.Value
	}
	return c.cfg.Static
}

// Level is the kraft.version in effect: 0 or 1.
func (c *Core) Level() int16 {
	last, _ := c.log.levels.last()
	return last.Value
}

// At gives the voter set and the kraft.version that were in effect with the
// last record below end: what a snapshot with that end offset holds. set is
// nil when the log never held one.
func (c *Core) At(end kafka.Offset) (set Voters, level int16) {
	voters, _ := c.log.voters.at(end - 1)
	levels, _ := c.log.levels.at(end - 1)
	return voters.Value, levels.Value
}

// IsVoter tells whether this node is in the voter set in effect.
func (c *Core) IsVoter() bool { return c.isVoter() }

// LatestSnapshot is the newest snapshot on our disk.
func (c *Core) LatestSnapshot() (Snapshot, bool) { return c.log.latestSnapshot() }

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
	case !c.isVoter() || c.alone() || c.now >= c.closing.Until:
		return true
	}
	id, _ := c.Leader()
	return id >= 0 && id != c.cfg.Self.Node
}

// isVoter tells whether our key is in the voter set.
func (c *Core) isVoter() bool { return c.Voters().Contains(c.cfg.Self) }

// mayStand tells whether this node may begin an election round.
func (c *Core) mayStand() bool { return c.isVoter() && c.closing == nil && c.installing == 0 }

// alone tells whether we are the only voter.
func (c *Core) alone() bool { return len(c.Voters()) == 1 && c.isVoter() }

// others calls f for each voter but ourselves.
func (c *Core) others(f func(Voter)) {
	for _, v := range c.Voters() {
		if !v.Key.Matches(c.cfg.Self) {
			f(v)
		}
	}
}

// hint is what every answer tells. A leader hands out its own listeners.
func (c *Core) hint() Hint {
	id, at := c.role.leader()
	if id == c.cfg.Self.Node && id >= 0 {
		at = c.cfg.Endpoints
	}
	return Hint{Epoch: c.election.Epoch, Leader: id, Endpoints: at}
}

// Snapshots are the finished snapshots on our disk, in order.
func (c *Core) Snapshots() []Snapshot { return slices.Clone(c.log.snapshots) }
