package raftnode

import (
	"errors"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// copyOne is a way out that costs nothing: all nodes have the same metadata, and brokers
// make snapshots of it as controllers do.
const copyOne = "copy the newest .checkpoint file of a broker of this cluster, or of a backup, into this folder, and start again; the number that its name begins with must not be below the start of the log (docs/design/lost-folder.md)"

const (
	// leaderMakesOne is how long a leader is left to make a snapshot by itself: twice
	// what metadata.log.max.snapshot.interval.ms is unless it is set.
	leaderMakesOne = 2 * time.Hour
	// refusedFor is how long votes are refused before that is a complaint: who has
	// all records may be about to ask.
	refusedFor = 15 * time.Second
)

// plaint is what a Refill says of why it waits. The goroutine of Run owns it.
type plaint struct {
	began     time.Time // of the wait
	unhelpful time.Time // since when the leader has not had a snapshot that would do; zero: it has, or there is none
}

// complain says what is waited for, and what else can be done where waiting has not
// helped for a while. To give this directory up is told last, and only where there is a
// leader: what is in it may be what a leader is elected with.
func (r *Refill) complain(err error) {
	type about struct {
		what string
		long bool
	}
	now, what, long := time.Now(), "", false
	args := []any{"dir", r.cfg.Dir, "start", r.start, "err", err}
	r.plaint.leader(now, err)
	asker, stuck := r.refused.stuck(now)
	switch {
	case errors.Is(err, errUnhelpful):
		what, long = "unhelpful", now.Sub(r.plaint.unhelpful) >= leaderMakesOne
		if long {
			args = append(args, "else", copyOne+"; or "+r.cfg.wayOut())
		}
	case stuck:
		v := r.node.View()
		args = append(args, "end", v.LogEnd, "epoch", v.LogEndEpoch, "asked", asker.node, "its end", asker.at.End, "its epoch", asker.at.Epoch, "else", copyOne)
		r.node.wire.log.warn(about{what: "longest"}, "the log of this controller is the longest of those that are up: it refuses its vote to the others, and cannot lead without a snapshot; start another controller that has these records, and format none", args...)
		return
	default:
		what, long = "leaderless", now.Sub(r.plaint.began) >= complainEvery
		if long {
			args = append(args, "else", "if no controller has a whole snapshot, none can lead: "+copyOne)
		}
	}
	r.node.wire.log.warn(about{what, long}, "what came before the metadata log is gone; the controller votes, and waits for a leader's snapshot that reaches it", args...)
}

// leader notes since when a leader has not been able to help.
func (p *plaint) leader(now time.Time, err error) {
	switch {
	case !errors.Is(err, errUnhelpful):
		p.unhelpful = time.Time{}
	case p.unhelpful.IsZero():
		p.unhelpful = now
	}
}

// refusedVotes remembers who asked for the vote of this node with a shorter log. It may
// be used by any goroutine.
type refusedVotes struct {
	mu    sync.Mutex
	since time.Time // the first time since somebody had a log as long as ours
	asked asked
}

// asked is a request for a vote.
type asked struct {
	when time.Time
	node kafka.NodeID
	at   raft.Position
}

// note takes a request for a vote.
func (r *refusedVotes) note(n *Node, req *kmsg.VoteRequest) {
	body, _ := n.wire.receiveVote(req)
	vote, ok := body.(raft.VoteRequest)
	if !ok {
		return
	}
	at, v := raft.Position{Epoch: vote.LastEpoch, End: vote.End}, n.View()
	shorter := !at.Covers(raft.Position{Epoch: v.LogEndEpoch, End: v.LogEnd})
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	switch {
	case !shorter:
		r.since = time.Time{}
		return
	case r.since.IsZero() || now.Sub(r.asked.when) > refusedFor:
		r.since = now
	}
	r.asked = asked{now, vote.Candidate.Node, at}
}

// stuck tells who has asked last when none but shorter logs have asked for a while, and
// still do.
func (r *refusedVotes) stuck(now time.Time) (asked, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked, !r.since.IsZero() && now.Sub(r.asked.when) <= refusedFor && r.asked.when.Sub(r.since) >= refusedFor
}
