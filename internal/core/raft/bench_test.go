package raft

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// BenchmarkStep is one batch on the leader of three: proposed, written,
// synced, fetched by both followers.
func BenchmarkStep(b *testing.B) {
	var voters Voters
	for id := range kafka.NodeID(3) {
		voters = voters.With(Voter{Key: kafka.ReplicaKey{Node: id + 1}, Endpoints: endpointsOf(id + 1)})
	}
	c, _, err := New(0, Config{
		Self: kafka.ReplicaKey{Node: 1}, Controller: true, Endpoints: endpointsOf(1), Listener: "CONTROLLER",
		Static: voters, Timing: DefaultTiming(), Rand: rand.New(rand.NewPCG(1, 1)),
	}, Stored{Election: Election{Epoch: 1, Leader: kafka.NoNode, Voted: kafka.ReplicaKey{Node: 1}}})
	if err != nil {
		b.Fatal(err)
	}
	voteFor(c, 2)
	if !c.leads() {
		b.Fatal(c.role.name())
	}
	var now kafka.Instant
	b.ReportAllocs()
	for b.Loop() {
		now++
		a := c.Step(now, Propose{Ticket: 1, Epoch: 1, Count: 1}).Append[0]
		c.Step(now, Written{a.Seq, a.End})
		c.Step(now, Synced{a.Seq, a.End})
		for id := range kafka.NodeID(2) {
			c.Step(now, Received{1, FetchRequest{
				Replica: kafka.ReplicaKey{Node: id + 2}, Epoch: 1, Offset: a.End, LastEpoch: 1,
				MaxWait: 500 * time.Millisecond, HighWatermark: a.Base,
			}})
		}
	}
}

// voteFor answers the vote request of a candidate.
func voteFor(c *Core, voter kafka.NodeID) {
	for _, x := range c.calls.conns {
		if x.to == voter {
			c.Step(c.now, Answered{x.call, VoteAnswer{Hint: Hint{Epoch: c.election.Epoch, Leader: kafka.NoNode}, Granted: true}})
			return
		}
	}
}
