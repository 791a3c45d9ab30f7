package raft

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Quorum is what DescribeQuorum tells (KIP-595, KIP-836).
type Quorum struct {
	Leader        kafka.NodeID
	Epoch         kafka.Epoch
	HighWatermark kafka.Offset // -1 when unknown
	Voters        []ReplicaState
	Observers     []ReplicaState
}

// ReplicaState is how far a replica has come. Times are ages; -1 is never.
type ReplicaState struct {
	Key                     kafka.ReplicaKey
	End                     kafka.Offset // -1 when unknown
	SinceFetch, SinceCaught time.Duration
	Endpoints               Endpoints
}

// Describe tells how the replicas stand; ok is false when this node does not
// lead. Observers that have been silent for a session are dropped.
func (c *Core) Describe(now kafka.Instant) (q Quorum, ok bool) {
	l, ok := c.role.(*leader)
	if !ok {
		return Quorum{}, false
	}
	voters := c.quorum.voters()
	l.replicas.forgetSilent(voters, now)
	q = Quorum{Leader: c.cfg.Self.Node, Epoch: c.election.Epoch, HighWatermark: l.hw}
	for _, v := range voters {
		if v.Key.Matches(c.cfg.Self) {
			q.Voters = append(q.Voters, ReplicaState{Key: v.Key, End: c.log.end, Endpoints: c.cfg.Endpoints})
			continue
		}
		x, known := l.replicas.find(v.Key)
		s := stateOf(x, known, now)
		// As in Kafka, a static voter has no directory, although its fetches name one.
		s.Key, s.Endpoints = v.Key, v.Endpoints
		q.Voters = append(q.Voters, s)
	}
	for _, x := range l.replicas.without(voters) {
		q.Observers = append(q.Observers, stateOf(x, true, now))
	}
	return q, true
}

func stateOf(x replica, known bool, now kafka.Instant) ReplicaState {
	s := ReplicaState{Key: x.key, End: kafka.NoOffset, SinceFetch: -1, SinceCaught: -1}
	if known {
		s.End, s.SinceFetch = x.end, now.Sub(x.fetched)
	}
	if x.everFull {
		s.SinceCaught = now.Sub(x.caughtUp)
	}
	return s
}

// Observers counts the observers that have fetched from this leader; 0 when it
// does not lead.
func (c *Core) Observers() int {
	l, leads := c.role.(*leader)
	if !leads {
		return 0
	}
	return l.replicas.countWithout(c.quorum.voters())
}
