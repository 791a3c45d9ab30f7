package raftnode

import (
	"context"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// RaiseLevel finalizes kraft.version if this node leads the epoch: from level 1
// on the voters are dynamic and stand in the log. It returns when that is
// appended, before it is committed; with ask nothing is changed, and the answer
// tells whether it could be. Errors have a code of the protocol:
// INVALID_UPDATE_VERSION when a voter does not support the level or the leader
// has not heard from it, NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT when ctx ends
// first or nothing is committed yet.
func (n *Node) RaiseLevel(ctx context.Context, epoch kafka.Epoch, level int16, ask bool) error {
	it := &raising{raft.RaiseRequest{Epoch: epoch, Level: level, Ask: ask}, make(chan raft.ChangeAnswer, 1)}
	if err := n.put(it); err != nil {
		return kerr.Errorf(kerr.NotLeaderOrFollower, "the node is stopping")
	}
	select {
	case a := <-it.answer:
		if a.Err == kerr.None {
			return nil
		}
		return kerr.Errorf(a.Err, "%s", *whyNot(a))
	case <-n.done:
		return kerr.Errorf(kerr.NotLeaderOrFollower, "the node is stopping")
	case <-ctx.Done():
		return kerr.Errorf(kerr.RequestTimedOut, "the quorum does not answer")
	}
}

// raising is a request to raise the level. It is answered when the view shows
// what came of it.
type raising struct {
	req    raft.RaiseRequest
	answer chan raft.ChangeAnswer // room for one
}

func (r *raising) run(l *loop) {
	a := raft.ChangeAnswer{Err: kerr.BrokerNotAvailable}
	received{r.req, func(b raft.Body, _ []byte) { a = b.(raft.ChangeAnswer) }}.run(l)
	r.answer <- a
}
