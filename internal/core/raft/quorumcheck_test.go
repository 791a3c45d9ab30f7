package raft

import (
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// "Observers and nodes with another directory do not count" for check quorum, by
// whatever they are heard, nor does a voter count twice in one window.
func TestCheckQuorumCountsVotersAlone(t *testing.T) {
	key := func(id kafka.NodeID, dir byte) kafka.ReplicaKey {
		return kafka.ReplicaKey{Node: id, Dir: kafka.DirID{15: dir}}
	}
	const now, began = kafka.Instant(time.Second), kafka.Instant(time.Millisecond)
	f := func(what string, again bool, heard ...kafka.ReplicaKey) {
		t.Helper()
		c := &Core{now: now, cfg: Config{Self: key(1, 1), Timing: Timing{Fetch: 2 * time.Second}}}
		for id := range kafka.NodeID(5) {
			c.quorum.static = append(c.quorum.static, Voter{Key: key(id+1, byte(id+1))})
		}
		c.quorum.log = &c.log
		q := quorumCheck{expires: began}
		for _, k := range heard {
			q.heard(c, k)
		}
		if got := q.expires > began; got != again {
			t.Errorf("%s: a new window began: %v", what, got)
		}
	}
	f("two of the four others", true, key(2, 2), key(3, 3))
	f("one of them", false, key(2, 2))
	f("one of them twice", false, key(2, 2), key(2, 2))
	f("one of them and an observer", false, key(2, 2), key(6, 6))
	f("two observers", false, key(6, 6), key(7, 7))
	f("one with another directory", false, key(2, 2), key(3, 9))
}
