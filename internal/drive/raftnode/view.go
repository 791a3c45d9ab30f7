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
	Level           int16 // kraft.version in effect
	Election        raft.Election
}

// View is the newest state; it never is nil.
func (n *Node) View() *View { return n.view.Load() }

// show publishes the state after a step: the view, what is committed, who
// leads, and the next deadline.
func (n *Node) show(e raft.Effects) {
	n.stats.deadline = e.Deadline
	leader, at := n.core.Leader()
	position := n.core.LogEnd()
	v := View{
		Role: n.core.Role(), Observer: !n.core.IsVoter(), Leader: leader, LeaderEndpoints: at,
		Epoch: n.core.Election().Epoch, HighWatermark: n.core.HighWatermark(), LogStart: n.core.LogStart(),
		LogEnd: position.End, LogEndEpoch: position.Epoch, Voters: n.core.Voters(), Level: n.core.Level(),
		Election: n.core.Election(),
	}
	before := n.view.Load()
	if before == nil || !v.sameAs(before) {
		n.view.Store(&v)
		n.stats.changed(n, before, &v)
	}
	if s, ok := n.core.LatestSnapshot(); ok && s.ID.EndOffset > 0 {
		if old := n.latest.Load(); old == nil || *old != s.ID {
			n.latest.Store(&s.ID)
		}
	}
	after := kafka.NoOffset
	if start, leads := n.core.EpochStart(); leads {
		after = start
	}
	n.listeners.show(e.Commit, LeaderAndEpoch{Leader: leader, Epoch: v.Epoch}, after)
}

// sameAs compares what changes often; voters and endpoints change with an
// offset or an epoch.
func (v *View) sameAs(o *View) bool {
	return v.Role == o.Role && v.Observer == o.Observer && v.Leader == o.Leader && v.Epoch == o.Epoch &&
		v.HighWatermark == o.HighWatermark && v.LogStart == o.LogStart && v.LogEnd == o.LogEnd &&
		v.LogEndEpoch == o.LogEndEpoch && len(v.LeaderEndpoints) == len(o.LeaderEndpoints) && v.Election == o.Election
}
