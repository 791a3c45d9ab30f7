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

// voterWait is how long a fetch of a voter may be parked: min(500 ms, F/20). By so
// much its last answer may be old when the leader begins to stand still, and by so
// much its timer is longer than F: a pause shorter than F costs no epoch.
func (t Timing) voterWait() time.Duration { return min(500*time.Millisecond, t.Fetch/20) }

// fetchWait is how long this node asks a leader to park its fetch.
func (c *Core) fetchWait() time.Duration {
	if c.quorum.electable(c.hw) {
		return c.cfg.Timing.voterWait()
	}
	return c.cfg.Timing.fetchWait()
}

// fetchLimit is when a fetch without answer counts as failed: F/8 after the longest wait
// of B2, also where a voter's is shorter. A leader may be that far away, and each fetch
// that is given up costs a new connection, which takes three times as long.
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
	trip    time.Duration // slowest round trip of late, see apart
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

// excuse takes time during which this process did not run, or by which its clock
// jumped, off the time that a write has taken: that is no fault of its disk. late is
// by how much a deadline was missed. When that is much, nobody knows for how long it
// had run since its last step, and the write gets all of that back. With a leader that
// wakes up as often as that, no gap counts for more.
func (p *pace) excuse(passed, late, much time.Duration) {
	if late > much {
		late = passed
	}
	if p.syncing != 0 && late > 0 {
		p.since = p.since.Add(late)
	}
}

// glance is when a leader looks at a write under way next: it wakes up every so
// often, so that a gap is told from time that it has seen pass.
func (p *pace) glance(now kafka.Instant, every time.Duration) kafka.Instant {
	every = max(every, 1)
	return p.since.Add((now.Sub(p.since)/every + 1) * every)
}

func (p *pace) saw(d time.Duration) { p.slowest = max(p.slowest, d) }

// MaxHeld is how long a voter may hold a pre-vote, while it looks whether the process
// of its leader is gone, before it hands it to its core (B3).
const MaxHeld = 20 * time.Millisecond

// measure notes how long an answer took that waits for nothing at the peer but its
// disk. Fetches are parked, records and snapshots take as long as they are large, and
// changes of the voters wait for others.
//
// Where we have proof of our leader's death, the others look for its process, too, and
// may hold our pre-votes. Of such an answer only the rest counts: d is four times what
// messages take, and what was held comes once. The rules of rounds.go still hold, which
// ask for no more than that a message and its answer take less than d.
func (c *Core) measure(took time.Duration, answer Body) {
	switch answer.(type) {
	case VoteAnswer, BeginAnswer, EndAnswer:
	default:
		return
	}
	if _, preVotes := c.role.(*prospective); preVotes && c.mourned.epoch == c.election.Epoch {
		took = max(took-MaxHeld, took/margin)
	}
	c.pace.answered(took)
}

// margin is by how much d is longer than a message and its answer took.
const margin = 4

func (p *pace) answered(after time.Duration) {
	p.saw(after)
	p.trip = max(p.trip, after)
}

// forget lets go of half of what a slow message once took. It is called when a
// round begins, which may measure it anew.
func (p *pace) forget() { p.trip /= 2 }

// step is d of B4: four times the slowest round trip and sync seen, within
// 20 ms and an eighth of the election timeout.
func (p *pace) step(election time.Duration) time.Duration {
	return max(min(margin*p.slowest, election/8), min(20*time.Millisecond, election/8))
}

// step is d of this node.
func (c *Core) step() time.Duration { return c.pace.step(c.cfg.Timing.Election) }

// apart is how long rounds keep out of each other's way: d, or longer where messages
// take longer than d allows for, up to a quarter of the election timeout. No timer is
// made of it.
func (c *Core) apart() time.Duration {
	return max(c.step(), min(margin*c.pace.trip, c.cfg.Timing.Election/4))
}

// fetchTimer is F and what the last answer may be old without any fault, later by
// rank x d (B4).
func fetchTimer(c *Core, leader kafka.NodeID) kafka.Instant {
	t := c.cfg.Timing
	return c.now.Add(t.Fetch + t.voterWait() + time.Duration(c.quorum.rank(leader, c.election.Epoch))*c.step())
}
