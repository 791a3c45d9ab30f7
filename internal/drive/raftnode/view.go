package raftnode

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// View is what others may know of the node. It is replaced whole and never
// changed.
type View struct {
	Role     raft.Role
	Observer bool // not in the voter set
	// Leader is NoNode when not known, and while a former leader has resigned.
	Leader          kafka.NodeID
	LeaderEndpoints raft.Endpoints
	Epoch           kafka.Epoch
	HighWatermark   kafka.Offset // -1 when unknown
	LogStart        kafka.Offset
	LogEnd          kafka.Offset // one past the last record appended
	LogEndEpoch     kafka.Epoch
	Voters          raft.Voters
	VoterChange     bool  // this node leads, and Voters are not committed yet
	Level           int16 // kraft.version in effect
	Election        raft.Election
}

// View is the newest state; it never is nil.
func (n *Node) View() *View { return n.view.Load() }

// look gives the core's state as it is now, before it is shown.
func (l *loop) look() View {
	s := l.core.State()
	return viewOf(&s)
}

func viewOf(s *raft.State) View {
	return View{
		Role: s.Role, Observer: !s.Voter, Leader: s.Leader, LeaderEndpoints: s.LeaderEndpoints, Epoch: s.Election.Epoch,
		HighWatermark: s.HighWatermark, LogStart: s.LogStart, LogEnd: s.Log.End, LogEndEpoch: s.Log.Epoch,
		Voters: s.Voters, VoterChange: s.VoterChange, Level: s.Level, Election: s.Election,
	}
}

// show publishes the state after a step: the view, what is committed, who
// leads, and the next deadline.
func (l *loop) show(e raft.Effects) {
	l.deadline = e.Deadline
	s := l.core.State()
	v := viewOf(&s)
	n := l.n
	before := n.view.Load()
	if before == nil || !v.sameAs(before) {
		n.view.Store(&v)
		l.stats.changed(before, &v, l.core.Observers())
		n.audience.show(v)
	}
	if id := s.LatestSnapshot; id.EndOffset > 0 {
		if old := n.latest.Load(); old == nil || *old != id {
			n.latest.Store(&id)
		}
	} else if n.latest.Load() != nil {
		n.latest.Store(nil) // it was damaged
	}
	n.listeners.show(e.Commit, LeaderAndEpoch{Leader: s.Leader, Epoch: v.Epoch}, s.EpochStart)
}

// sameAs compares what changes often; voters and endpoints change with an
// offset or an epoch.
func (v *View) sameAs(o *View) bool {
	return v.Role == o.Role && v.VoterChange == o.VoterChange && v.Observer == o.Observer && v.Leader == o.Leader && v.Epoch == o.Epoch &&
		v.HighWatermark == o.HighWatermark && v.LogStart == o.LogStart && v.LogEnd == o.LogEnd &&
		v.LogEndEpoch == o.LogEndEpoch && len(v.LeaderEndpoints) == len(o.LeaderEndpoints) && v.Election == o.Election
}

// WatchLeader has f called with the view now and whenever another leader, another
// epoch or other endpoints of the leader are known, in order and at the latest when
// the step that brought it is over. f must not block. While the node waits for its
// disk the view may be that of before, with the leader that others name (see audience).
func (n *Node) WatchLeader(f func(View)) { _ = n.put(watchLeader(f)) }
