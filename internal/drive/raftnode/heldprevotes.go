package raftnode

import (
	"time"

	"github.com/ottla/ottla/internal/core/raft"
)

// maxHeld bounds the pre-votes that are held back. One more is answered as it comes.
const maxHeld = 16

// heldPreVotes wait while this node looks whether the process of their epoch's leader
// is gone (B3). To the core they are messages that took longer on their way:
//
//  1. A leads B and C, and is killed. B and C look for its process; that takes both
//     some 20 ms.
//  2. B is done a moment before C, and asks. C has no proof yet, and refuses.
//  3. C has its proof, but must not ask before its refusal has arrived, or both
//     rounds were lost (B4). So nobody leads for some 5 ms more.
//
// A look may take much longer than that: no question waits for longer than the pause
// between two refusals (raft.MaxHeld, by which the core knows a slow message from one
// that was held). And answers to one peer keep their order, so that nothing is
// held once there is proof (a follower goes on trying to fetch, and looks again) or a
// later epoch: the next leader's answer would wait behind it.
type heldPreVotes struct {
	waiting []received
	limit   *time.Timer // runs while something waits
}

// holds takes a request that is better answered when this node has looked.
func (l *loop) holds(r received) bool {
	vote, ok := r.body.(raft.VoteRequest)
	h := &l.held
	if !ok || !vote.PreVote || vote.Epoch != l.examined.epoch || !l.awaitsProof() || len(h.waiting) >= maxHeld {
		return false
	}
	h.waiting = append(h.waiting, r)
	if len(h.waiting) == 1 {
		n := l.n
		h.limit = time.AfterFunc(raft.MaxHeld, func() { _ = n.put(answerHeld{}) })
	}
	return true
}

// awaitsProof tells whether this node is looking for the process of the leader it has,
// and asks nobody itself: two rounds are kept apart by what they hear of each other.
func (l *loop) awaitsProof() bool {
	return l.n.View().Role != raft.RoleProspective && l.examined != (term{}) && l.examined != l.proven && l.n.View().Epoch == l.examined.epoch
}

// stopHolding answers what is held in vain.
func (l *loop) stopHolding() {
	if len(l.held.waiting) > 0 && !l.awaitsProof() {
		answerHeld{}.run(l)
	}
}

// answerHeld has what is held looked at now.
type answerHeld struct{}

func (answerHeld) run(l *loop) {
	waiting := l.held.waiting
	if len(waiting) == 0 {
		return
	}
	l.held.limit.Stop()
	l.held = heldPreVotes{}
	for _, r := range waiting {
		r.receive(l)
	}
}

// abandonHeld answers who waits when the loop has ended.
func (l *loop) abandonHeld() {
	for _, r := range l.held.waiting {
		r.refuse(l.n)
	}
}
