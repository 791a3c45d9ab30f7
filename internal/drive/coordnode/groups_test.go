package coordnode

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
)

// rig is a coordinator over a log in memory with one partition.
type rig struct {
	t   *testing.T
	log *memLog
	n   *Groups
	// gone are the topics that metadata does not have, ids those of the others;
	// without an entry it is zero.
	gone map[string]bool
	ids  map[string]kafka.TopicID
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, log: newMemLog(), gone: map[string]bool{}, ids: map[string]kafka.TopicID{}}
	cfg := group.Defaults()
	r.n = New(Config{
		Log: r.log, Group: cfg, Partitions: func() int32 { return 1 },
		TopicID: func(name string) (kafka.TopicID, bool) { return r.ids[name], !r.gone[name] },
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	return r
}

func tp(p kafka.PartitionID) kafka.TopicPartition {
	return kafka.TopicPartition{Topic: kafka.ConsumerOffsetsTopic, Partition: p}
}

// lead elects this node and waits until it has loaded.
func (r *rig) lead(epoch kafka.Epoch) {
	r.log.elect(0, epoch)
	r.n.Elected(tp(0), epoch)
	synctest.Wait()
}

func (r *rig) close() {
	r.t.Helper()
	if err := r.n.Close(context.Background()); err != nil {
		r.t.Error(err)
	}
}

// ask submits a request and waits for what can be done about it at once; it
// tells whether the request was answered.
func (r *rig) ask(q group.Request) bool {
	answered := make(chan struct{})
	r.n.Submit(q, func() { close(answered) })
	synctest.Wait()
	select {
	case <-answered:
		return true
	default:
		return false
	}
}

func commitOf(id string, offset kafka.Offset) *group.CommitOffsets {
	return &group.CommitOffsets{
		Call: group.Call{Group: id}, Member: group.Member{Generation: -1}, Retention: -1,
		Offsets: []group.CommitOffset{{TopicPartition: kafka.TopicPartition{Topic: "t"}, Offset: offset, LeaderEpoch: -1}},
	}
}

func fetchOf(id string) *group.FetchOffsets {
	return &group.FetchOffsets{Call: group.Call{Group: id}, All: true}
}

func (r *rig) wantOffset(id string, want kafka.Offset) {
	r.t.Helper()
	f := fetchOf(id)
	if !r.ask(f) || f.Err != kerr.None {
		r.t.Fatalf("fetch: %v", f.Err)
	}
	got := kafka.NoOffset
	if len(f.Offsets) > 0 {
		got = f.Offsets[0].Offset
	}
	if got != want {
		r.t.Fatalf("offset of %s is %d, want %d", id, got, want)
	}
}

func (r *rig) wantErr(q group.Request, want kerr.Code) {
	r.t.Helper()
	if !r.ask(q) {
		r.t.Fatalf("%T has no answer, want %v", q, want)
	}
	if got := group.CallOf(q).Err; got != want {
		r.t.Fatalf("%T: %v, want %v", q, got, want)
	}
}

// TestCommitSurvivesChangeOfLeader: what was answered is there after another
// coordinator has loaded the partition.
func TestCommitSurvivesChangeOfLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(1)
		r.wantErr(commitOf("g", 42), kerr.None)
		r.n.Resigned(tp(0), 2, false)
		r.wantErr(fetchOf("g"), kerr.NotCoordinator)
		r.lead(3)
		r.wantOffset("g", 42)
	})
}

// TestReplyWaitsForHighWatermark: a commit is answered, and shown, only when
// the high watermark has passed its record.
func TestReplyWaitsForHighWatermark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(1)
		r.log.hold(true)
		c := commitOf("g", 7)
		done := make(chan struct{})
		r.n.Submit(c, func() { close(done) })
		synctest.Wait()
		r.wantOffset("g", kafka.NoOffset)
		r.log.commit(0)
		<-done
		r.wantOffset("g", 7)
	})
}

// TestGroupCommit: all that comes while one append waits goes out as one batch.
func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(1)
		r.log.hold(true)
		const n = 100
		done := make(chan struct{}, n+1)
		for i := range n + 1 {
			r.n.Submit(commitOf(fmt.Sprintf("g%d", i), 1), func() { done <- struct{}{} })
			if i == 0 {
				synctest.Wait() // the first is on its way alone
			}
		}
		synctest.Wait()
		r.log.commit(0)
		synctest.Wait()
		r.log.commit(0)
		for range n + 1 {
			<-done
		}
		if got := r.log.count(); got != 2 {
			t.Errorf("%d appends for %d commits, want 2", got, n+1)
		}
	})
}

// TestFailedAppend: the client is told, and later commits are not held up.
func TestFailedAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(1)
		r.log.fail(kerr.NotEnoughReplicas)
		r.wantErr(commitOf("g", 1), kerr.CoordinatorNotAvailable)
		r.log.fail(nil)
		r.wantOffset("g", kafka.NoOffset)
		r.wantErr(commitOf("g", 2), kerr.None)
		r.wantOffset("g", 2)
	})
}

// TestTooLargeUnit: a commit that fits into no batch fails alone.
func TestTooLargeUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.log.max = 1000
		r.lead(1)
		big := commitOf("g", 1)
		for i := range 100 {
			big.Offsets = append(big.Offsets, group.CommitOffset{TopicPartition: kafka.TopicPartition{Topic: "t", Partition: kafka.PartitionID(i)}})
		}
		r.wantErr(big, kerr.UnknownServerError)
		r.wantErr(commitOf("h", 2), kerr.None)
		r.wantOffset("g", kafka.NoOffset)
		r.wantOffset("h", 2)
	})
}

// TestLoading: requests are told to come again, heartbeats that all is well,
// until everything found in the log is committed and replayed.
func TestLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(1)
		r.log.hold(true)
		r.n.Submit(commitOf("g", 5), func() {})
		synctest.Wait()
		r.lead(2) // the record is in the log, and not known to be committed
		r.wantErr(fetchOf("g"), kerr.CoordinatorLoadInProgress)
		r.wantErr(&group.Heartbeat{Call: group.Call{Group: "g"}}, kerr.None)
		got := make(chan kerr.Code, 1)
		r.n.List(func(_ []group.Listed, err kerr.Code) { got <- err })
		if err := <-got; err != kerr.CoordinatorLoadInProgress {
			t.Errorf("list: %v", err)
		}
		r.log.commit(0)
		synctest.Wait()
		r.wantOffset("g", 5)
	})
}

// TestResignAnswersParked: a join that waits for its group is told that the
// coordinator is gone.
func TestResignAnswersParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(1)
		j := joinOf("g")
		done := make(chan struct{})
		r.n.Submit(j, func() { close(done) })
		synctest.Wait()
		r.n.Resigned(tp(0), 2, false)
		<-done
		if j.Err != kerr.NotCoordinator {
			t.Errorf("join: %v", j.Err)
		}
	})
}

func joinOf(id string) *group.Join {
	return &group.Join{
		Call: group.Call{Group: id}, SessionTimeout: 10 * time.Second, RebalanceTimeout: 30 * time.Second,
		ProtocolType: "consumer", Protocols: []group.Protocol{{Name: "range"}},
	}
}

// TestTimersRun: deadlines of the shard come by themselves, and an idle
// partition keeps no goroutine.
func TestTimersRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(1)
		j := joinOf("g")
		done := make(chan struct{})
		r.n.Submit(j, func() { close(done) })
		began := time.Now()
		<-done
		if took := time.Since(began); j.Err != kerr.None || took != 3*time.Second {
			t.Errorf("join: %v after %v, want the initial delay of 3s", j.Err, took)
		}
		<-time.After(11 * time.Second) // the bubble's time: the session ends
		d := &group.Describe{Call: group.Call{Group: "g"}}
		r.wantErr(d, kerr.None)
		if d.Reply.State != group.Empty {
			t.Errorf("group is %v after its member's session, want Empty", d.Reply.State)
		}
	})
}

// TestNotCoordinator: a client that asks for a partition that is not led here,
// or before the topic exists, has to look for its coordinator again.
func TestNotCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.wantErr(fetchOf("g"), kerr.NotCoordinator)
		r.n.cfg.Partitions = func() int32 { return 0 }
		r.wantErr(fetchOf("g"), kerr.NotCoordinator)
	})
}

// TestMailboxIsBounded: what does not fit is refused at once.
func TestMailboxIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(1)
		p := r.n.led[0]
		p.mu.Lock()
		p.working = true // nobody empties the mailbox
		p.mu.Unlock()
		answered := 0
		for range maxMail {
			r.n.Submit(fetchOf("g"), func() { answered++ })
		}
		r.wantErr(fetchOf("g"), kerr.CoordinatorNotAvailable)
		p.mu.Lock()
		p.working = false
		p.wake()
		p.mu.Unlock()
		synctest.Wait()
		if answered != maxMail {
			t.Errorf("%d of %d were answered", answered, maxMail)
		}
	})
}

// TestOldNewsIsIgnored: a resignation of an earlier epoch does not end a later
// one, and an election is taken once.
func TestOldNewsIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.lead(5)
		r.n.Resigned(tp(0), 4, false)
		r.n.Elected(tp(0), 5)
		r.wantErr(commitOf("g", 1), kerr.None)
	})
}
