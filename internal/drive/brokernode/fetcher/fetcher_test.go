package fetcher

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

var quiet = slog.New(slog.DiscardHandler)

// soon is more than the longest wait at a leader and the longest pause together.
// In a bubble it costs nothing.
const soon = 5 * time.Second

// same checks that a follower's log is its leader's, and that it knows what is
// committed.
func (p *pair) same(topic string, n int, start, end kafka.Offset) {
	p.t.Helper()
	time.Sleep(soon) // of the bubble
	lead, follow := p.leader.Find(topic, n), p.follower.Find(topic, n)
	s := follow.Status()
	if s.LogStart != start || s.LogEnd != end || s.HighWatermark != lead.Status().HighWatermark {
		p.t.Errorf("%s-%d: the follower holds %d to %d, committed %d; want %d to %d, committed %d",
			topic, n, s.LogStart, s.LogEnd, s.HighWatermark, start, end, lead.Status().HighWatermark)
	}
	if a, b := p.leader.Bytes(topic, n, start), p.follower.Bytes(topic, n, start); !bytes.Equal(a, b) {
		p.t.Errorf("%s-%d: the follower's %d bytes are not the leader's %d", topic, n, len(b), len(a))
	}
}

// Rule: what the leader appends the follower copies, byte for byte; what both
// have is committed, and the follower learns of that too (KIP-1166).
func TestAFollowerCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.topic("t", 2)
		p.same("t", 0, 0, 0)
		p.write("t", 0, 3)
		p.write("t", 0, 4)
		p.write("t", 1, 1)
		p.same("t", 0, 0, 7)
		p.same("t", 1, 0, 1)
		if hw := p.leader.Find("t", 0).Status().HighWatermark; hw != 7 {
			t.Errorf("committed is %d of 7", hw)
		}
	})
}

// Rule: a follower whose log is not a beginning of the leader's cuts it where the
// leader says that the two part (KIP-595), and goes on from there.
func TestAFollowerCutsWhatDiverges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		id := p.topic("t", 1)
		p.write("t", 0, 3)
		p.same("t", 0, 0, 3)
		p.at.script(func(c *leaderConn) { c.down = errors.New("cut off") })
		// The follower leads for a while, and writes what nobody copies.
		p.follower.Apply(testbed.Elect(id, 0, follows))
		p.follower.Publish()
		for range 2 {
			if _, err := p.follower.Find("t", 0).Append(records(2), false); err != nil {
				t.Fatal(err)
			}
		}
		// Then the old leader does again, in a later epoch.
		p.leader.Apply(testbed.Elect(id, 0, follows), testbed.Elect(id, 0, leads))
		p.leader.Publish()
		p.write("t", 0, 1)
		p.at.script(func(c *leaderConn) { c.down = nil })
		p.follower.Apply(testbed.Elect(id, 0, leads))
		p.follower.Publish()
		p.same("t", 0, 0, 4)
	})
}

// Rule: an epoch in which nothing was written leaves no trace that divides a
// follower from its leader for ever.
func TestAnEpochWithoutRecordsDividesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		id := p.topic("t", 1)
		p.write("t", 0, 3)
		p.same("t", 0, 0, 3)
		p.follower.Apply(testbed.Elect(id, 0, follows))
		p.follower.Publish()
		p.leader.Apply(testbed.Elect(id, 0, follows), testbed.Elect(id, 0, leads))
		p.leader.Publish()
		p.follower.Apply(testbed.Elect(id, 0, leads))
		p.follower.Publish()
		p.write("t", 0, 2)
		p.same("t", 0, 0, 5)
	})
}

// Rule: OFFSET_OUT_OF_RANGE, and the leader's log begins behind our end: drop
// everything and begin where it begins.
func TestAFollowerThatIsLeftBehindBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		id := p.topic("t", 1)
		p.write("t", 0, 2)
		p.same("t", 0, 0, 2)
		p.at.script(func(c *leaderConn) { c.down = errors.New("cut off") })
		// Without the follower in the ISR the leader commits, and deletes, alone.
		alone := metarec.NewPartitionChangeRecord()
		alone.TopicId, alone.PartitionId, alone.Isr = id, 0, []int32{int32(leads)}
		time.Sleep(soon)
		p.apply(alone)
		p.write("t", 0, 8)
		time.Sleep(time.Minute) // until the follower no longer holds up the high watermark
		p.leader.Manager.Tick()
		if _, err := p.leader.Find("t", 0).DeleteBefore(6); err != nil {
			t.Fatal(err)
		}
		p.at.script(func(c *leaderConn) { c.down = nil })
		p.same("t", 0, 6, 10)
	})
}

// Rule: the log start of the leader is that of its followers too.
func TestAFollowerDeletesWhatItsLeaderDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.topic("t", 1)
		p.write("t", 0, 4)
		p.same("t", 0, 0, 4)
		if _, err := p.leader.Find("t", 0).DeleteBefore(3); err != nil {
			t.Fatal(err)
		}
		p.same("t", 0, 3, 4)
		if low, err := p.leader.Find("t", 0).LowWatermark(); low != 3 || err != nil {
			t.Errorf("the low watermark is %d, %v", low, err)
		}
	})
}

// Rule: a session's requests list what changed, and forget what is no longer
// followed (KIP-227). A lost session begins anew with everything.
func TestRequestsListWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		id := p.topic("t", 3)
		p.same("t", 2, 0, 0)
		before := len(p.at.requests())
		p.write("t", 1, 1)
		p.same("t", 1, 0, 1)
		listed := map[int32]bool{}
		for _, r := range p.at.requests()[before:] {
			each(r, func(q int32) { listed[q] = true })
		}
		if len(listed) != 1 || !listed[1] {
			t.Errorf("partitions %v were listed, of which one changed", listed)
		}
		p.at.script(func(c *leaderConn) { c.forget = true })
		before = len(p.at.requests())
		p.write("t", 2, 1)
		p.same("t", 2, 0, 1)
		clear(listed)
		for _, r := range p.at.requests()[before:] {
			if r.SessionEpoch == 0 {
				each(r, func(q int32) { listed[q] = true })
			}
		}
		if len(listed) != 3 {
			t.Errorf("the new session lists %v", listed)
		}
		p.follower.Apply(testbed.Elect(id, 0, follows))
		p.follower.Publish()
		time.Sleep(soon)
		p.at.script(func(c *leaderConn) {
			if _, still := c.listed[kafka.TopicIDPartition{Topic: id, Partition: 0}]; still || len(c.listed) != 2 {
				t.Errorf("the session has %d partitions", len(c.listed))
			}
		})
	})
}

func each(r *kmsg.FetchRequest, see func(int32)) {
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			see(p.Partition)
		}
	}
}

// Rule: a leader that does not know yet that it leads is asked again after a
// pause that doubles up to replica.fetch.backoff.ms, and the others meanwhile.
func TestARefusedPartitionRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.at.script(func(c *leaderConn) { c.refuse = kerr.NotLeaderOrFollower })
		p.topic("t", 1)
		time.Sleep(10 * time.Second)
		if n := len(p.at.requests()); n < 10 || n > 40 {
			t.Errorf("%d requests in ten seconds", n)
		}
		p.write("t", 0, 1)
		p.at.script(func(c *leaderConn) { c.refuse = kerr.None })
		p.same("t", 0, 0, 1)
	})
}

// Rule: FENCED_LEADER_EPOCH ends the fetching until metadata brings a newer epoch.
func TestAFencedFollowerWaitsForMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		id := p.topic("t", 1)
		p.write("t", 0, 1)
		p.same("t", 0, 0, 1)
		p.leader.Apply(testbed.Elect(id, 0, follows), testbed.Elect(id, 0, leads))
		p.leader.Publish()
		p.write("t", 0, 1)
		time.Sleep(soon)
		before := len(p.at.requests())
		time.Sleep(soon)
		if n := len(p.at.requests()) - before; n > 0 {
			t.Errorf("%d requests after it was fenced", n)
		}
		p.follower.Apply(testbed.Elect(id, 0, follows), testbed.Elect(id, 0, leads))
		p.follower.Publish()
		p.same("t", 0, 0, 2)
	})
}

// Rule: an answer that arrives after metadata has moved the replica on changes
// nothing.
func TestALateAnswerIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		id := p.topic("t", 1)
		follow := p.follower.Find("t", 0)
		asked, ok := follow.Follower().Stands()
		if !ok || asked.Leader != leads {
			t.Fatalf("%+v %v", asked, ok)
		}
		p.apply(testbed.Elect(id, 0, follows), testbed.Elect(id, 0, leads))
		if _, err := follow.Follower().Take(asked, partitions.FromLeader{Records: records(1)}); !errors.Is(err, partitions.ErrMoved) {
			t.Errorf("%v", err)
		}
		if end := follow.Status().LogEnd; end != 0 {
			t.Errorf("the log ends at %d", end)
		}
	})
}

// Rule: what is told about replication is how far behind the last answer showed
// a replica, and whether it could be taken.
func TestWhatIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.topic("t", 2)
		p.write("t", 0, 3)
		p.same("t", 0, 0, 3)
		time.Sleep(2 * rateEvery)
		s := p.fetcher.standing()
		if s.minRate <= 0 || s.minRate > 1000 {
			t.Errorf("%g fetches a second", s.minRate)
		}
		if s.minRate = 0; s != (standing{followed: 2}) {
			t.Errorf("%+v", s)
		}
		if got, want := p.fetcher.figures.Bytes.Value(), float64(len(p.leader.Bytes("t", 0, 0))); got != want {
			t.Errorf("%v bytes of %v", got, want)
		}
		p.at.script(func(c *leaderConn) { c.spoil = true })
		p.write("t", 0, 1)
		time.Sleep(soon)
		if s := p.fetcher.standing(); s.failed != 1 {
			t.Errorf("%+v", s)
		}
		p.at.script(func(c *leaderConn) { c.spoil = false })
		p.same("t", 0, 0, 4)
		if s := p.fetcher.standing(); s.failed != 0 {
			t.Errorf("%+v", s)
		}
	})
}
