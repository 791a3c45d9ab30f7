package fetcher

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// scripted is a quota that is used up when the test says so.
type scripted struct {
	topic    string // whose replicas are throttled
	scant    bool   // used up by whatever is recorded
	exceeded atomic.Bool
	recorded atomic.Int64
}

func (q *scripted) Lists(tp kafka.TopicPartition) bool { return tp.Topic == q.topic }
func (q *scripted) Exceeded() bool                     { return q.exceeded.Load() }

// Record uses the quota up where it is scant.
func (q *scripted) Record(n int) {
	q.recorded.Add(int64(n))
	if q.scant && n > 0 {
		q.exceeded.Store(true)
	}
}

// outside makes a topic of one partition whose follower is not in the ISR.
func (p *pair) outside(name string) kafka.TopicID {
	p.t.Helper()
	id := p.leader.AddTopic(name)
	p.follower.AddTopic(name)
	r := testbed.Partition(id, 0, leads, follows)
	r.Isr = []int32{int32(leads)}
	p.apply(r)
	return id
}

// ends tells where the follower's log of a topic ends after a while.
func (p *pair) ends(topic string) kafka.Offset {
	p.t.Helper()
	time.Sleep(soon) // of the bubble
	synctest.Wait()
	return p.follower.Find(topic, 0).Status().LogEnd
}

// Rule: while the quota is used up, throttled replicas are left out, and others are
// not; they go on when it is free again.
func TestThrottledReplicasAreLeftOutWhileTheQuotaIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quota := &scripted{topic: "slow"}
		p := newPairWith(t, quota)
		quota.exceeded.Store(true)
		p.outside("slow")
		p.outside("other")
		p.write("slow", 0, 3)
		p.write("other", 0, 2)
		if slow, other := p.ends("slow"), p.ends("other"); slow != 0 || other != 2 {
			t.Errorf("used up: slow ends at %d, other at %d", slow, other)
		}
		quota.exceeded.Store(false)
		if slow := p.ends("slow"); slow != 3 {
			t.Errorf("free again: slow ends at %d", slow)
		}
		if quota.recorded.Load() != int64(len(p.follower.Bytes("slow", 0, 0))) {
			t.Errorf("%d bytes were counted", quota.recorded.Load())
		}
	})
}

// Rule: a replica that is fetched already is taken out of the session, and nothing is
// asked of a leader of whom all is held back.
func TestAReplicaLeavesTheSessionWhenTheQuotaIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quota := &scripted{topic: "slow", scant: true}
		p := newPairWith(t, quota)
		p.at.script(func(c *leaderConn) { c.single, c.down = true, errors.New("cut off") })
		p.outside("slow")
		for range 5 {
			p.write("slow", 0, 1)
		}
		p.at.script(func(c *leaderConn) { c.down = nil })
		if end := p.ends("slow"); end != 1 {
			t.Errorf("slow ends at %d after the first answer has used the quota up", end)
		}
		asked := p.at.requests()
		if last := asked[len(asked)-1]; len(last.ForgottenTopics) != 1 || len(last.Topics) != 0 {
			t.Errorf("the last request names %v and forgets %v", last.Topics, last.ForgottenTopics)
		}
		p.ends("slow")
		if n := len(p.at.requests()); n != len(asked) {
			t.Errorf("%d requests although nothing may be fetched", n-len(asked))
		}
		for want := kafka.Offset(2); want <= 5; want++ {
			quota.exceeded.Store(false)
			if end := p.ends("slow"); end != want {
				t.Errorf("free again: slow ends at %d, not %d", end, want)
			}
		}
	})
}

// Rules of who is left out when the quota is used up, by name.
func TestRulesOfThrottledFollowers(t *testing.T) {
	f := func(rule string, prepare func(*pair), copied bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			quota := &scripted{topic: "slow"}
			p := newPairWith(t, quota)
			prepare(p)
			p.write("slow", 0, 1)
			if asked := p.at.requests(); !copied && len(asked) > 0 {
				t.Errorf("%s: %d requests for nothing", rule, len(asked))
			}
			if got := p.ends("slow") > 0; got != copied {
				t.Errorf("%s: copied %v", rule, got)
			}
		})
	}
	used := func(p *pair) { p.quota.(*scripted).exceeded.Store(true) }
	f("one of which nothing is known yet is left out", func(p *pair) { used(p); p.outside("slow") }, false)
	f("one in the ISR never is", func(p *pair) { used(p); p.topic("slow", 1) }, true)
	f("one that lacked nothing is fetched until it does", func(p *pair) { p.outside("slow"); p.ends("slow"); used(p) }, true)
	f("one that comes into the ISR meanwhile no longer is", func(p *pair) {
		used(p)
		id := p.outside("slow")
		p.ends("slow")
		in := metarec.NewPartitionChangeRecord()
		in.TopicId, in.PartitionId, in.Isr = id, 0, []int32{int32(leads), int32(follows)}
		p.apply(in)
	}, true)
}
