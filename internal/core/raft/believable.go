package raft

import (
	"math"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

const (
	// lastEpoch is the end of epochs: no election follows it.
	lastEpoch kafka.Epoch = math.MaxInt32
	// farEpoch is farther than a quorum gets in 34 years of an election every
	// second. Up to here a peer may be in any epoch.
	farEpoch kafka.Epoch = 1 << 30
	// datedEpoch is the highest one that the date at the start makes believable.
	datedEpoch = lastEpoch - 1<<20
	// firstDay is 2026-01-01T00:00Z in Unix seconds.
	firstDay = 1_767_225_600
)

// believable tells whether a peer may be in an epoch. Whoever reaches us may
// raise our epoch, in the voter set or not: a voter can be one that our log does
// not name yet (KIP-853). An epoch is never given back, so one message, or a
// thousand, must not use up those that elections need.
//
// Beyond farEpoch, which only an attack reaches, there is one more epoch with
// every second. A clock gives them and not a count of messages, or those would
// climb as fast as they come:
//  1. Messages lift voters A, B and C to the highest epoch of this second.
//  2. A stands in the next one. B and C do not believe it yet, and A asks again.
//  3. A second later at most they do, and vote.
//
// All nodes share that clock, so no voter is lifted to where the others cannot
// follow, but by as many epochs as their clocks differ in seconds. Our own epoch
// needs no belief: elections of ours may be ahead of our clock.
func believable(c *Core, epoch kafka.Epoch) bool {
	return epoch <= max(c.election.Epoch, c.highestEpoch())
}

// highestEpoch is the highest one that a peer may be in now, at least farEpoch. What
// our disk held at the start counts as reached by then, whatever the clock says,
// and a clock that is decades ahead leaves epochs too.
func (c *Core) highestEpoch() kafka.Epoch {
	dated := min(int64(farEpoch)+max(0, c.cfg.Unix-firstDay), int64(datedEpoch))
	passed := int64(c.now.Sub(c.started) / time.Second)
	return kafka.Epoch(min(max(dated, int64(c.held))+passed, int64(lastEpoch)-1))
}
