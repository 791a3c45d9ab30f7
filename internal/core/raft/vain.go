package raft

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// vain remembers a leader that answers with what we cannot use: records or a
// snapshot that its disk has damaged, or what contradicts our log. To ask again at
// once would bring the same for ever, so nobody is asked for a while that grows
// with each such answer.
type vain struct {
	leader kafka.NodeID
	epoch  kafka.Epoch
	times  int
	until  kafka.Instant
}

// The first rest is the retry back-off, and at least leastRest; each next one is
// twice as long, up to maxRest.
const (
	leastRest = 10 * time.Millisecond
	maxRest   = 5 * time.Second
)

// rests tells whether nothing is to be fetched now. Only the leader that answered so is
// spared: the next one has done nothing yet, and leads no longer than it is fetched from.
func (f *follower) rests(c *Core) bool {
	v := &c.vain
	return c.now < v.until && v.leader == f.id && v.epoch == c.election.Epoch
}

// inVain notes an answer of our leader that brought nothing. It neither restarts
// the fetch timer nor counts as a fetch, so a voter that could get on with another
// leader stands for election when its timer ends. Who cannot stand waits for this
// leader, which is there, or is replaced and then says so.
func (f *follower) inVain(c *Core, what string) {
	v := &c.vain
	if v.leader != f.id || v.epoch != c.election.Epoch {
		*v = vain{leader: f.id, epoch: c.election.Epoch}
	}
	rest := max(c.cfg.Timing.RetryBackoff, leastRest)
	for i := 0; i < v.times && rest < maxRest; i++ {
		rest *= 2
	}
	v.times++
	v.until = c.now.Add(min(rest, maxRest))
	if !c.quorum.electable(c.hw) {
		f.expires = v.until.Add(c.cfg.Timing.Fetch)
	}
	c.trace(what, f.id)
}
