package replica

import (
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

func leading(ids ...kafka.NodeID) *Core {
	c := New(Config{Self: 1, LagMax: time.Second, MinISR: 1})
	a := Assigned{Leader: 1, LeaderEpoch: 1, ISR: ids}
	for _, id := range ids {
		a.Replicas = append(a.Replicas, Member{Node: id, Active: true})
	}
	var out Effects
	c.Step(0, a, &out)
	return c
}

func TestSteadyStepsAllocateNothing(t *testing.T) {
	c := leading(1, 2, 3)
	var out Effects
	end := kafka.Offset(0)
	n := testing.AllocsPerRun(100, func() {
		end++
		c.Step(0, Appended{end}, &out)
		c.Step(0, Fetched{Node: 2, BrokerEpoch: kafka.NoBrokerEpoch, Offset: end}, &out)
		c.Step(0, Fetched{Node: 3, BrokerEpoch: kafka.NoBrokerEpoch, Offset: end}, &out)
		if done, err := c.Committed(end, 1); !done || err != nil {
			t.Fatal(done, err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A consumer may be told the end of the log only once the new leader knows that
// everything it inherited is committed.
func TestLatestIsUnknownAfterAnElection(t *testing.T) {
	c := New(Config{Self: 1, LagMax: time.Second, MinISR: 1, HighWatermark: 5, Log: Extent{0, 9}})
	var out Effects
	c.Step(0, Assigned{Leader: 1, LeaderEpoch: 2, Replicas: []Member{{Node: 1}, {Node: 2}}, ISR: []kafka.NodeID{1, 2}, Log: Extent{0, 9}}, &out)
	if c.LatestKnown() {
		t.Error("known before the follower fetched")
	}
	c.Step(0, Fetched{Node: 2, BrokerEpoch: kafka.NoBrokerEpoch, Offset: 9}, &out)
	if start, leads := c.EpochStart(); !c.LatestKnown() || start != 9 || !leads {
		t.Errorf("high watermark %d, epoch start %d", c.HighWatermark(), start)
	}
}

func BenchmarkAppendAlone(b *testing.B) {
	c := leading(1)
	var out Effects
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Step(0, Appended{kafka.Offset(i)}, &out)
	}
}
