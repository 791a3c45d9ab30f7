package fetcher

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// settled waits until nothing happens but time, so that a fetch is parked at the
// leader if there is one at all.
func settled() {
	time.Sleep(10 * time.Millisecond) // of the bubble
	synctest.Wait()
}

// committedIn writes a record that all in-sync replicas have to copy, and tells
// how long that took.
func (p *pair) committedIn(topic string, n int) time.Duration {
	p.t.Helper()
	part, began := p.leader.Find(topic, n), time.Now()
	got, err := part.Append(records(1), true)
	if err != nil {
		p.t.Fatal(err)
	}
	for {
		done, err := part.Acked(got, true)
		if err != nil {
			p.t.Fatal(err)
		}
		if done {
			return time.Since(began)
		}
		time.Sleep(time.Millisecond)
	}
}

// Rule: no new partition waits for a parked fetch. With its first record written
// at once, both replicas have it in a few times the time a leader needs to look,
// of the 500 ms that the fetch of the older partitions may wait.
func TestANewcomerDoesNotWaitForAParkedFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.topic("old", 1)
		for _, name := range []string{"a", "b", "c"} {
			settled()
			p.topic(name, 2)
			for n := range 2 {
				if took := p.committedIn(name, n); took > 20*time.Millisecond {
					t.Errorf("%s-%d had its first record after %v", name, n, took)
				}
			}
		}
		p.write("old", 0, 1)
		p.same("old", 0, 0, 1)
	})
}

// Rule: a leader that reads the second request only when it has answered the first
// makes nobody wait for longer than the first one may take.
func TestANewcomerAtALeaderThatQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.at.script(func(c *leaderConn) { c.queues = true })
		p.topic("old", 1)
		for _, name := range []string{"a", "b", "c"} {
			settled()
			p.topic(name, 1)
			if took := p.committedIn(name, 0); took > 520*time.Millisecond {
				t.Errorf("%s had its first record after %v", name, took)
			}
		}
		p.same("old", 0, 0, 0)
	})
}

// Rule: the request that opens a session does not wait, so that those who come
// right behind it can be added.
func TestTheFirstRequestDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.topic("t", 1)
		settled()
		asked := p.at.requests()
		if len(asked) != 2 || asked[0].SessionEpoch != 0 || asked[0].MaxWaitMillis != 0 || asked[1].MaxWaitMillis != 500 {
			t.Errorf("%d requests", len(asked))
		}
	})
}

// Rule: a partition that the leader does not know yet is asked for again when its
// rest is over, and not when the parked fetch of the others comes back.
func TestARefusedNewcomerDoesNotWaitForAParkedFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.topic("old", 1)
		settled()
		// The follower learns of the topic first.
		id := p.follower.AddTopic("new")
		p.leader.AddTopic("new")
		p.follower.Apply(testbed.Partition(id, 0, leads, follows))
		p.follower.Publish()
		time.Sleep(time.Millisecond)
		p.leader.Apply(testbed.Partition(id, 0, leads, follows))
		p.leader.Publish()
		if took := p.committedIn("new", 0); took > 50*time.Millisecond {
			t.Errorf("it had its first record after %v", took)
		}
	})
}

// Rule: an idle follower sends what the longest wait makes it send, and no more.
func TestAnIdleFollowerIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.topic("t", 3)
		time.Sleep(soon)
		before := len(p.at.requests())
		time.Sleep(10 * time.Second)
		if n := len(p.at.requests()) - before; n > 21 {
			t.Errorf("%d requests in ten seconds", n)
		}
	})
}

// Rule: an answer to a request that was sent before a replica was asked for anew,
// in a later leader epoch, is not for it.
func TestAnAnswerFromBeforeANewEpochIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.at.script(func(c *leaderConn) { c.queues = true })
		id := p.topic("t", 1)
		settled()
		p.at.script(func(c *leaderConn) { c.refuse, c.once = kerr.FencedLeaderEpoch, true }) // the parked fetch
		p.follower.Apply(testbed.Elect(id, 0, leads))
		p.follower.Publish()
		p.leader.Apply(testbed.Elect(id, 0, leads))
		p.leader.Publish()
		settled()
		p.write("t", 0, 1)
		p.same("t", 0, 0, 1) // else it was dropped until the next epoch
	})
}
