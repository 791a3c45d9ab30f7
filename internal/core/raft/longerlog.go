package raft

import (
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// longerLog is the round that a voter with a longer log must start (B6). Of two
// voters that are left, the one whose log is shorter may ask again and again and
// be refused each time, while the other, which would win, waits out its timer:
//
//  1. A leads, B and C follow; B has a record that C lacks. A dies.
//  2. B asks; C, which still takes A to be alive, refuses. B's round is lost.
//  3. C asks; B refuses, for C's log is shorter. B could win now, and C grants,
//     but B's next turn is a fetch timeout away.
//
// So B starts a round at once: at most one for each epoch and asker, which is a voter
// (there is no end of other nodes, and none of them can help it to win), not before
// roundPause after its last one, and only after a fetch to every address that it
// knows, in case somebody leads. When C asks while a round of B is under way, which
// then is lost because C had refused before, B starts the next one after that.
type longerLog struct {
	lost    bool          // our last round was lost and nothing was fetched since
	ended   kafka.Instant // when
	epoch   kafka.Epoch   // of askers
	askers  []kafka.NodeID
	due     kafka.Instant  // when the round begins; Never: none is wanted
	began   bool           // there has been such a round in this epoch
	fetched []kafka.NodeID // who was sent a fetch since
}

// roundPause lies between two rounds of a voter.
const roundPause = 50 * time.Millisecond

var noLongerLog = longerLog{due: kafka.Never, epoch: kafka.NoEpoch}

// roundBegins: whoever waited for a round has one now.
func (g *longerLog) roundBegins() { g.due = kafka.Never }

// roundLost notes the end of a round that brought nothing. Who was refused in the
// course of it would grant now.
func (g *longerLog) roundLost(now kafka.Instant) {
	g.lost, g.ended = true, now
	if g.due != kafka.Never {
		g.due = now.Add(roundPause)
	}
}

// settled ends it all: somebody leads.
func (g *longerLog) settled() { g.lost, g.due = false, kafka.Never }

// refused notes that an asker got no pre-vote only because its log is shorter.
func (g *longerLog) refused(c *Core, asker kafka.NodeID) {
	if g.epoch != c.election.Epoch {
		g.epoch, g.askers, g.began = c.election.Epoch, g.askers[:0], false
	}
	_, asks := c.role.(*prospective)
	_, votes := c.quorum.voters().Node(asker)
	f, follows := c.role.(*follower)
	parted := follows && f.farewell
	if !g.lost && !asks && !parted || !votes || !mayStand(c) || slices.Contains(g.askers, asker) {
		return
	}
	g.askers = append(g.askers, asker)
	g.due = max(c.now, g.ended.Add(roundPause))
	c.trace("shorter log asks", asker)
}

// asks notes that a fetch leaves.
func (g *longerLog) asks(to kafka.NodeID) {
	if g.began && !slices.Contains(g.fetched, to) {
		g.fetched = append(g.fetched, to)
	}
}

// begins tells whether the round begins now; known is the leader we follow, or
// NoNode.
func (g *longerLog) begins(c *Core, known kafka.NodeID) bool {
	if c.now < g.due || g.epoch != c.election.Epoch || !mayStand(c) {
		return false
	}
	if g.began {
		var buffer bootstrapBuffer
		unasked := func(b bootstrapAddress) bool { return !slices.Contains(g.fetched, b.id) }
		if slices.ContainsFunc(bootstraps(c, &buffer), unasked) || known >= 0 && !slices.Contains(g.fetched, known) {
			return false
		}
	}
	g.due, g.began, g.fetched = kafka.Never, true, g.fetched[:0]
	c.trace("longer log stands", kafka.NoNode)
	return true
}

// next is when the round is due; a time that has passed waits for a fetch, which
// has its own time.
func (g *longerLog) next(now kafka.Instant) kafka.Instant {
	if g.due <= now {
		return kafka.Never
	}
	return g.due
}
