package raft

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// electionTimer is uniform in [E, 2E), so that voters seldom stand at once.
func electionTimer(c *Core) kafka.Instant {
	e := c.cfg.Timing.Election
	if e <= 0 {
		return c.now
	}
	return c.now.Add(e + time.Duration(c.cfg.Rand.Int64N(int64(e))))
}

// fetchWait is how long a fetch of an observer may be parked: min(500 ms, F/4), so
// that a lost answer is noticed long before the leader is given up (B2).
func (t Timing) fetchWait() time.Duration { return min(500*time.Millisecond, t.Fetch/4) }

// voterWait is how long a fetch of a voter may be parked: min(500 ms, F/16). By so
// much its last answer may be old when the leader begins to stand still, and by so
// much its timer is longer than F: a pause shorter than F costs no epoch.
func (t Timing) voterWait() time.Duration { return min(500*time.Millisecond, t.Fetch/16) }

// fetchWait is how long this node asks a leader to park its fetch.
func (c *Core) fetchWait() time.Duration {
	if c.quorum.electable(c.hw) {
		return c.cfg.Timing.voterWait()
	}
	return c.cfg.Timing.fetchWait()
}

// fetchLimit is when a fetch without answer counts as failed.
func (t Timing) fetchLimit() time.Duration { return t.fetchWait() + max(t.Fetch/8, time.Millisecond) }

// checkQuorum is how long a leader leads without hearing from a majority.
func (t Timing) checkQuorum(granted time.Duration) time.Duration {
	return max(t.Fetch+t.Fetch/2, 2*granted)
}

// pace measures how slow peers and the disk have been. Waits that keep voters
// from splitting their votes are built on it (B4).
type pace struct {
	syncing Seq // the oldest write under way
	since   kafka.Instant
	latest  Seq
	slowest time.Duration // round trip or sync
}

func (p *pace) asked(now kafka.Instant, seq Seq) {
	if p.syncing == 0 {
		p.syncing, p.since = seq, now
	}
	p.latest = seq
}

func (p *pace) synced(now kafka.Instant, seq Seq) {
	if p.syncing == 0 || seq < p.syncing {
		return
	}
	p.saw(now.Sub(p.since))
	p.syncing = 0
	if seq < p.latest {
		p.syncing, p.since = seq+1, now
	}
}

// excuse takes time during which this process did not run off the time that a
// write has taken: that it stood still is no fault of its disk. late is by how
// much a deadline was missed. When that is much, nobody knows for how long it had
// run since its last step, and the write gets all of that back.
func (p *pace) excuse(passed, late, much time.Duration) {
	if late > much {
		late = passed
	}
	if p.syncing != 0 && late > 0 {
		p.since = p.since.Add(late)
	}
}

func (p *pace) saw(d time.Duration) { p.slowest = max(p.slowest, d) }

// step is d of B4: four times the slowest round trip and sync seen, within
// 20 ms and an eighth of the election timeout.
func (p *pace) step(election time.Duration) time.Duration {
	return max(min(4*p.slowest, election/8), min(20*time.Millisecond, election/8))
}

// step is d of this node.
func (c *Core) step() time.Duration { return c.pace.step(c.cfg.Timing.Election) }

// fetchTimer is F and what the last answer may be old without any fault, later by
// rank x d (B4).
func fetchTimer(c *Core, leader kafka.NodeID) kafka.Instant {
	t := c.cfg.Timing
	return c.now.Add(t.Fetch + t.voterWait() + time.Duration(c.quorum.rank(leader, c.election.Epoch))*c.step())
}
