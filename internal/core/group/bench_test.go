package group

import (
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// BenchmarkHeartbeat is the commonest event: it allocates nothing.
func BenchmarkHeartbeat(b *testing.B) {
	r := newBench(b)
	m := r.stable("g", "consumer", nil)
	beat := &Heartbeat{Call: Call{Group: "g"}, Member: m}
	b.ReportAllocs()
	for b.Loop() {
		r.now.At = r.now.At.Add(time.Microsecond)
		r.shard.Step(r.now, beat)
	}
}

// BenchmarkCommit is a commit of ten partitions and its end.
func BenchmarkCommit(b *testing.B) {
	r := newBench(b)
	m := r.stable("g", "consumer", nil)
	c := commit("g", m)
	for i := range 10 {
		c.Offsets = append(c.Offsets, CommitOffset{TopicPartition: kafka.TopicPartition{Topic: "topic", Partition: kafka.PartitionID(i)}})
	}
	seq := r.last
	b.ReportAllocs()
	for b.Loop() {
		r.shard.Step(r.now, c)
		seq++
		r.shard.Step(r.now, Committed{Through: seq})
	}
}

// BenchmarkRebalance is a rebalance of 100 members, from the leader's join to
// the last assignment.
func BenchmarkRebalance(b *testing.B) {
	const n = 100
	r := newBench(b)
	joins := make([]*Join, n)
	for i := range joins {
		joins[i] = &Join{
			Call: Call{Group: "g"}, SessionTimeout: time.Minute, RebalanceTimeout: time.Minute,
			ProtocolType: "consumer", Protocols: []Protocol{{Name: "range", Metadata: subscription("t")}},
		}
		r.step(joins[i])
	}
	r.advance(6 * time.Second)
	b.ReportAllocs()
	for b.Loop() {
		for _, j := range joins {
			j.MemberID = j.Reply.MemberID
			j.Protocols[0].Metadata = append([]byte(nil), j.Protocols[0].Metadata...)
			r.step(j)
		}
		for _, j := range joins {
			r.step(&Sync{Call: Call{Group: "g"}, Member: Member{MemberID: j.Reply.MemberID, Generation: j.Reply.Generation}})
		}
		r.appended, r.answered, r.log = r.appended[:0], r.answered[:0], r.log[:0]
	}
}

// TestSteadyStateAllocatesNothing: heartbeats never, commits of known
// partitions neither.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	r := newBench(t)
	m := r.stable("g", "consumer", nil)
	beat := &Heartbeat{Call: Call{Group: "g"}, Member: m}
	if n := testing.AllocsPerRun(1000, func() { r.shard.Step(r.now, beat) }); n != 0 {
		t.Errorf("a heartbeat allocates %v times", n)
	}
	c := commit("g", m, "t", "u")
	seq := r.last
	n := testing.AllocsPerRun(1000, func() {
		r.shard.Step(r.now, c)
		seq++
		r.shard.Step(r.now, Committed{Through: seq})
	})
	if n > 1 { // Committed, in its interface
		t.Errorf("a commit allocates %v times", n)
	}
}
