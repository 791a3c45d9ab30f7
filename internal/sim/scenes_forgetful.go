package sim

import (
	"fmt"
	"slices"

	"github.com/ottla/ottla/internal/abstract"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// forgetfulScenes are those of a voter whose quorum-state file is lost, and that is
// started again and again before anybody leads. R3 and R1 have to hold over what it
// voted before, too.
func forgetfulScenes() []Scene {
	var all []Scene
	for _, dynamic := range []bool{false, true} {
		for _, starts := range []int{1, 2, 4} {
			all = append(all, Scene{
				Name: fmt.Sprintf("votes-lost-%d-dynamic-%v", starts, dynamic), Voters: 3, Dynamic: dynamic, Epochless: true,
				What: fmt.Sprintf("a voter has elected a leader and loses its election state, and is started %d times", starts),
				Play: func(s *Stage) { votesLost(s, starts) },
			})
		}
	}
	return all
}

// votesLost: only the one who forgets and the old leader are up then, of which either
// may stand in the epoch of the vote. Without a record in its log a loss looks like a
// first start, so all have some.
func votesLost(s *Stage, starts int) {
	old := s.leader()
	s.wait("records on all disks", func() bool {
		return !slices.ContainsFunc(s.without(old), func(n *node) bool { return len(n.disk.durable) == 0 })
	})
	epoch := s.highest() + 1
	voter, candidate := s.voteForOne(old, epoch)
	if s.w.failure != nil {
		return
	}
	s.kill(candidate)
	s.kill(voter)
	s.loseVotes(voter)
	for i := range starts {
		if i > 0 {
			s.kill(voter)
		}
		if voter.disk.election.Epoch >= epoch && s.w.rng.IntN(2) == 0 {
			voter.disk.marked = true // it came before the mark was gone
			voter.follows = abstract.Tracker{}
		}
		voter.boot()
		if i == 0 && s.w.rng.IntN(2) == 0 {
			old.boot()
		}
		s.live(s.upTo(s.w.plan.Timing.Election * 3))
	}
	if !old.up {
		old.boot()
	}
	s.agree([]*node{old, voter})
	if s.highest() <= epoch {
		s.w.fail(R1, "epoch %d has two leaders", epoch)
	}
	candidate.boot()
	s.calm()
}

// voteForOne lets the leader die, and gives a voter that has voted for another one in
// the next epoch, at the moment at which it has.
func (s *Stage) voteForOne(old *node, epoch kafka.Epoch) (voter, candidate *node) {
	s.kill(old)
	s.wait("a vote for another node", func() bool {
		for _, n := range s.without(old) {
			if e := n.disk.election; e.Epoch == epoch && e.Voted.Node >= 0 && e.Voted.Node != n.id {
				voter, candidate = n, s.w.node(e.Voted.Node)
			}
		}
		return voter != nil
	})
	return voter, candidate
}

// loseVotes takes the election state from a node that is down.
func (s *Stage) loseVotes(n *node) {
	n.disk.election, n.disk.noFile = raft.NoElection(), true
	n.follows = abstract.Tracker{}
	s.w.check.of(n).epoch = kafka.NoEpoch
	s.w.note("-- %d loses quorum-state", n.id)
}
