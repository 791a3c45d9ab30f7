package replica

import (
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/invariant"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// Config is what a replica is told once.
type Config struct {
	Self kafka.NodeID
	// LagMax is replica.lag.time.max.ms: how long a follower may be behind and
	// still count as in sync.
	LagMax time.Duration
	MinISR int
	// HighWatermark is the last one that was checkpointed; it may be behind.
	HighWatermark kafka.Offset
	Log           Extent
}

// Core is one replica of a partition. It is not safe for concurrent use.
type Core struct {
	self   kafka.NodeID
	lagMax time.Duration
	minISR int

	leaderEpoch kafka.Epoch
	leaderID    kafka.NodeID
	epoch       int32 // partition epoch of the newest committed state
	replicas    int   // how many there are
	isr         []kafka.NodeID

	log Extent
	// hw is the high watermark. Invariant: it does not go down, except when the
	// log is cut or its start is moved; it never passes log.End.
	hw kafka.Offset
	// lead is set while the role is Leading.
	lead *leader
	role Role
}

// New makes a replica that has not heard from metadata yet.
func New(c Config) *Core {
	return &Core{
		self: c.Self, lagMax: c.LagMax, minISR: c.MinISR,
		leaderEpoch: kafka.NoEpoch, leaderID: kafka.NoNode, epoch: -1,
		log: c.Log, hw: min(max(c.HighWatermark, c.Log.Start), c.Log.End),
	}
}

// Step takes one event and says in out what has to happen because of it. It
// never blocks or fails, and allocates only when roles or the ISR change.
func (c *Core) Step(now kafka.Instant, ev Event, out *Effects) {
	*out = Effects{}
	switch ev := ev.(type) {
	case Appended:
		c.appended(now, ev.End, out)
	case Fetched:
		c.fetched(now, ev, out)
	case LeaderSaid:
		c.leaderSaid(ev, out)
	case Assigned:
		c.assigned(now, ev, out)
	case Configured:
		c.minISR = ev.MinISR
		c.advance(now, out)
	case Trimmed:
		c.trimmed(ev.Start, out)
	case Truncated:
		c.log.End = ev.End
		c.log.Start = min(c.log.Start, ev.End)
		c.hw = min(c.hw, ev.End)
	case Diverged:
		out.Truncate, out.TruncateTo = c.role == Following, min(ev.LeaderEnd, ev.OwnEnd)
	case Misplaced:
		c.misplaced(ev.Leader, out)
	case Proposed:
		c.proposed(now, ev, out)
	case Tick:
		c.tick(now, out)
	}
	if c.hw > c.log.End {
		invariant.Check(false, "high watermark %d past log end %d", c.hw, c.log.End)
	}
}

// Role is what the replica does.
func (c *Core) Role() Role { return c.role }

// LeaderEpoch is the newest leader epoch that metadata named.
func (c *Core) LeaderEpoch() kafka.Epoch { return c.leaderEpoch }

// Leader is the leader in that epoch; kafka.NoNode: none.
func (c *Core) Leader() kafka.NodeID { return c.leaderID }

// PartitionEpoch counts all changes of the partition.
func (c *Core) PartitionEpoch() int32 { return c.epoch }

// HighWatermark is the offset below which everything is committed, as far as
// this replica knows.
func (c *Core) HighWatermark() kafka.Offset { return c.hw }

// ISR is the committed set of in-sync replicas. It may not be changed.
func (c *Core) ISR() []kafka.NodeID { return c.isr }

// EpochStart is where the leader epoch began, for a leader.
func (c *Core) EpochStart() (kafka.Offset, bool) {
	if c.lead == nil {
		return 0, false
	}
	return c.lead.epochStart, true
}

// enoughInSync tells whether the ISR has min.insync.replicas members, or all
// replicas there are.
func (c *Core) enoughInSync() bool { return len(c.isr) >= min(c.minISR, c.replicas) }

func (c *Core) assigned(now kafka.Instant, a Assigned, out *Effects) {
	if a.LeaderEpoch < c.leaderEpoch || a.LeaderEpoch == c.leaderEpoch && a.Epoch < c.epoch {
		return // older than what we know
	}
	role := c.roleIn(a)
	out.Turned = role != c.role || a.LeaderEpoch != c.leaderEpoch
	out.ISRChanged = !slices.Equal(c.isr, a.ISR)
	c.leaderEpoch, c.leaderID, c.epoch = a.LeaderEpoch, a.Leader, a.Epoch
	c.replicas, c.isr, c.role = len(a.Replicas), a.ISR, role
	if out.Turned {
		c.turn(a)
	}
	if c.lead != nil {
		c.lead.reassign(now, c.self, a)
		c.lead.settle(a.Epoch)
		c.advance(now, out)
	}
}

func (c *Core) roleIn(a Assigned) Role {
	switch {
	case a.Leader == c.self:
		return Leading
	case slices.ContainsFunc(a.Replicas, func(m Member) bool { return m.Node == c.self }):
		return Following
	}
	return Idle
}

// turn begins a leader epoch, or a role, with nothing left of the one before.
func (c *Core) turn(a Assigned) {
	c.log = a.Log
	c.hw = min(max(c.hw, c.log.Start), c.log.End)
	c.lead = nil
	if c.role == Leading {
		c.lead = newLeader(c.log.End)
	}
}

func (c *Core) appended(now kafka.Instant, end kafka.Offset, out *Effects) {
	c.log.End = max(c.log.End, end) // a duplicate ends where it was the first time
	c.advance(now, out)
}

func (c *Core) trimmed(start kafka.Offset, out *Effects) {
	before := c.LowWatermark()
	c.log.Start = max(c.log.Start, start)
	c.log.End = max(c.log.End, c.log.Start)
	if c.hw < c.log.Start {
		c.hw, out.HighWatermarkMoved = c.log.Start, true
	}
	out.LowWatermarkMoved = c.LowWatermark() > before
}

// leaderSaid moves a follower's high watermark after its leader's.
func (c *Core) leaderSaid(s LeaderSaid, out *Effects) {
	if c.role != Following {
		return
	}
	if hw := min(s.HighWatermark, c.log.End); hw > c.hw {
		c.hw, out.HighWatermarkMoved = hw, true
	}
	if s.LogStart > c.log.Start {
		out.RaiseStart, out.StartAt = true, s.LogStart
	}
}

// misplaced finds the way back to a leader that does not hold our log end. One
// that was elected uncleanly may end before us; one that retention has taken
// from may begin behind us, and then nothing that we have continues its log.
func (c *Core) misplaced(leader Extent, out *Effects) {
	switch {
	case c.role != Following:
	case leader.End < c.log.End:
		out.Truncate, out.TruncateTo = true, leader.End
	case leader.Start > c.log.End:
		out.Restart, out.StartAt = true, leader.Start
	}
}

// Fence checks the leader epoch that a request names (KIP-320): a client or
// follower that knows an older or newer leader than we do must not be served.
func (c *Core) Fence(current kafka.Epoch) error {
	switch {
	case current == kafka.NoEpoch || current == c.leaderEpoch:
		return nil
	case current < c.leaderEpoch:
		return kerr.FencedLeaderEpoch
	}
	return kerr.UnknownLeaderEpoch
}

// MustLead is nil for a leader.
func (c *Core) MustLead() error {
	if c.role == Leading {
		return nil
	}
	return kerr.NotLeaderOrFollower
}

// MayAppend tells whether a produce may be appended. One that waits for all
// in-sync replicas is refused while there are too few of them.
func (c *Core) MayAppend(waitsForAll bool) error {
	switch {
	case c.role != Leading:
		return kerr.NotLeaderOrFollower
	case waitsForAll && !c.enoughInSync():
		return kerr.NotEnoughReplicas
	}
	return nil
}

// Committed tells whether a produce that ends at end in the given leader epoch
// can be answered, and how.
func (c *Core) Committed(end kafka.Offset, epoch kafka.Epoch) (done bool, err error) {
	switch {
	case c.role != Leading || c.leaderEpoch != epoch:
		return true, kerr.NotLeaderOrFollower
	case c.hw < end:
		return false, nil
	case !c.enoughInSync():
		return true, kerr.NotEnoughReplicasAfterAppend
	}
	return true, nil
}

// LowWatermark is where the log of every live replica starts, or later.
func (c *Core) LowWatermark() kafka.Offset {
	if c.lead == nil {
		return c.log.Start
	}
	return c.lead.lowWatermark(c.log.Start)
}

// LatestKnown tells whether a new leader's high watermark has reached what was
// in the log when it was elected. Until then it cannot say where the log ends
// for consumers (KIP-207).
func (c *Core) LatestKnown() bool { return c.lead != nil && c.hw >= c.lead.epochStart }
