package raftnode

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// outerSize bounds the requests of strangers that wait for the loop: fetches of who
// has no vote, and DescribeQuorum. When it is full, further ones wait in the
// goroutines of their connections.
const outerSize = 256

// innerFirst is how many items of the node itself and of its peers are looked at
// while a stranger waits, before it is its turn.
const innerFirst = 16

// stranger tells whether a request comes from who has no vote, as far as is known:
// it waits in a queue of its own, so that no number of them keeps voters from being
// heard.
func (n *Node) stranger(body raft.Body) bool {
	var who kafka.ReplicaKey
	switch r := body.(type) {
	case raft.FetchRequest:
		who = r.Replica
	case raft.SnapshotRequest:
		who = r.Replica
	default:
		return false
	}
	return !n.View().Voters.Contains(who)
}

// turns picks the queue that is looked at next: the inner one first, but a stranger
// that waits gets its turn too.
type turns struct {
	inner, outer chan item
	passed       int // items of inner in a row
}

// next gives the queues to wait for; a nil one is not looked at.
func (t *turns) next() (inner, outer chan item) {
	switch {
	case len(t.inner) == 0:
		t.passed = 0
		return t.inner, t.outer
	case t.passed >= innerFirst && len(t.outer) > 0:
		t.passed = 0
		return nil, t.outer
	}
	t.passed++
	return t.inner, nil
}
