package sim

import (
	"slices"
	"time"

	"github.com/ottla/ottla/internal/abstract"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// keptScenes are what seeds have found, played on purpose: a seed tells another
// story as soon as anything in it happens at another time, and these do not.
func keptScenes() []Scene {
	return []Scene{
		{Name: "kept-removal-unseen", Voters: 2, Dynamic: true, Least: 1, Most: 3,
			What:    "a leader removes itself, and all go down before the other has that",
			Prepare: func(s *Stage) { s.w.plan.Active[DiskLost] = true }, // the voters change: plan.moving
			Play:    removalUnseen},
		{Name: "kept-voted-then-followed", Voters: 3,
			What: "a voter that voted for itself, and then followed the winner of that epoch, starts again", Play: votedThenFollowed},
		{Name: "kept-epoch-without-leader", Voters: 3, Others: 1, Epochless: true,
			What: "a candidate whose epoch only an observer has heard of is gone for good", Play: epochWithoutLeader},
	}
}

// removalUnseen: who holds the longest log is no voter by it, and has to stand all
// the same, for the other one needs its vote.
func removalUnseen(s *Stage) {
	l := s.leader()
	other := s.other(l)
	s.mute(l, other)
	s.change(l, raft.RemoveVoterRequest{Voter: l.cfg.Self})
	s.wait("the removal on the leader's disk", func() bool { // one sync may bring what was proposed after it, too
		return slices.ContainsFunc(l.disk.durable, func(b batch) bool { return b.voters != nil && !b.voters.Contains(l.cfg.Self) })
	})
	s.kill(l)
	s.kill(other)
	s.heal()
	l.boot()
	other.boot()
	s.wait("a leader of whom the removal is committed", func() bool {
		return other.up && other.role == raft.RoleLeader && len(other.state.Voters) == 1 && other.state.HighWatermark == other.state.Log.End
	})
}

// votedThenFollowed: it is no candidate again, for its file names a leader (R9).
func votedThenFollowed(s *Stage) {
	n := s.other(s.leader())
	s.kill(n)
	delete(s.w.check.votes, ballot{n.cfg.Self, n.disk.election.Epoch})
	n.disk.election.Voted, n.follows = n.cfg.Self, abstract.Tracker{}
	s.live(s.upTo(time.Second))
	n.boot()
	if n.role == raft.RoleCandidate {
		s.w.fail(R9, "node %d stands in epoch %d, whose leader it knows", n.id, n.disk.election.Epoch)
	}
	s.calm()
}

// epochWithoutLeader: the observer follows whom the others elect in an epoch before
// that one.
func epochWithoutLeader(s *Stage) {
	n := s.other(s.leader())
	observer := s.w.node(4)
	observer.boot()
	s.kill(n)
	s.cut(n, s.without(n)...)
	n.disk.election = raft.Election{Epoch: s.highest() + 5, Leader: kafka.NoNode, Voted: n.cfg.Self}
	n.follows = abstract.Tracker{}
	n.boot()
	for range 10 { // each time it asks all whether they know a leader
		s.kill(observer)
		observer.boot()
		s.live(s.upTo(200 * time.Millisecond))
	}
	s.kill(n)
	s.wait("the observer at the leader of the others", func() bool { return s.agreed(append(s.without(n), observer)) })
}
