package raft

import (
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// quorumCheck makes a leader that a majority does not fetch from give up
// (KAFKA-15489). Every window must see a fresh majority; it is no sliding
// window for each follower.
type quorumCheck struct {
	seen    []kafka.NodeID // voters heard from in this window
	granted time.Duration  // longest wait granted to a fetch of a voter
	expires kafka.Instant
}

func (q *quorumCheck) restart(c *Core) {
	q.seen = q.seen[:0]
	q.expires = c.now.Add(c.cfg.Timing.checkQuorum(q.granted))
}

// excuse makes a window longer by a gap in which the leader did not listen: it stood
// still, or its clock jumped ahead. late is by how much it missed a deadline. It has
// one every F/2 at least, and much of each gap counts all the same, so that the window
// of a leader that is always late comes to its end.
func (q *quorumCheck) excuse(late, much time.Duration) {
	if late > much {
		q.expires = q.expires.Add(late - much)
	}
}

// expired tells whether the leader has lost its majority. An only voter needs
// nobody (KAFKA-16144).
func (q *quorumCheck) expired(c *Core) bool { return !c.quorum.alone() && c.now >= q.expires }

// heard counts a voter that fetched. Observers and nodes with another
// directory do not count.
func (q *quorumCheck) heard(c *Core, key kafka.ReplicaKey) {
	voters := c.quorum.voters()
	if !voters.Contains(key) || slices.Contains(q.seen, key.Node) {
		return
	}
	q.seen = append(q.seen, key.Node)
	needed := voters.Majority()
	if voters.Contains(c.cfg.Self) {
		needed--
	}
	if len(q.seen) >= needed {
		q.restart(c)
	}
}
