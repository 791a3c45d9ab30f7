package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// desk is a controller that a test scripts: each kind of request has a function
// that answers it, and everything asked is kept.
type desk struct {
	mu         sync.Mutex
	register   func(*kmsg.BrokerRegistrationRequest) (kerr.Code, int64)
	heartbeats []*kmsg.BrokerHeartbeatRequest
	assigned   []*kmsg.AssignReplicasToDirsRequest
	refuse     kerr.Code // for assignments
	beat       kerr.Code // for heartbeats
	letGo      bool
	down       bool
}

func (d *desk) Do(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return nil, errors.New("no controller")
	}
	switch req := req.(type) {
	case *kmsg.BrokerRegistrationRequest:
		reply := kmsg.NewPtrBrokerRegistrationResponse()
		code, epoch := kerr.None, int64(5)
		if d.register != nil {
			code, epoch = d.register(req)
		}
		reply.ErrorCode, reply.BrokerEpoch = int16(code), epoch
		return reply, nil
	case *kmsg.BrokerHeartbeatRequest:
		d.heartbeats = append(d.heartbeats, req)
		reply := kmsg.NewPtrBrokerHeartbeatResponse()
		reply.ErrorCode = int16(d.beat)
		reply.IsCaughtUp, reply.IsFenced = true, req.WantFence
		reply.ShouldShutdown = req.WantShutdown && d.letGo
		return reply, nil
	case *kmsg.AssignReplicasToDirsRequest:
		d.assigned = append(d.assigned, req)
		return d.assign(req), nil
	}
	return nil, errors.New("unexpected request")
}

func (d *desk) assign(req *kmsg.AssignReplicasToDirsRequest) kmsg.Response {
	reply := kmsg.NewPtrAssignReplicasToDirsResponse()
	for _, dir := range req.Directories {
		rd := kmsg.NewAssignReplicasToDirsResponseDirectory()
		for _, topic := range dir.Topics {
			rt := kmsg.NewAssignReplicasToDirsResponseDirectoryTopic()
			rt.TopicID = topic.TopicID
			for _, p := range topic.Partitions {
				rp := kmsg.NewAssignReplicasToDirsResponseDirectoryTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, int16(d.refuse)
				rt.Partitions = append(rt.Partitions, rp)
			}
			rd.Topics = append(rd.Topics, rt)
		}
		reply.Directories = append(reply.Directories, rd)
	}
	return reply
}

func (d *desk) last() *kmsg.BrokerHeartbeatRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.heartbeats) == 0 {
		return nil
	}
	return d.heartbeats[len(d.heartbeats)-1]
}

func (d *desk) set(change func(*desk)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

// start runs a lifecycle inside a bubble; the returned function ends it and
// gives what Run returned.
func start(d *desk, change func(*Config)) (*Lifecycle, func() error) {
	cfg := Config{
		Node: 1, ClusterID: "c", Dirs: []kafka.DirID{{1}, {2}}, PreviousEpoch: kafka.NoBrokerEpoch,
		HeartbeatInterval: 2 * time.Second, RegistrationTimeout: time.Minute, DirFailureTimeout: 30 * time.Second,
		Controller: d, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	l := New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	return l, func() error { cancel(); return <-ended }
}

func TestTheRegistrationIsRepeatedWhileTheControllerIsAwayOrHoldsADuplicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		d := &desk{down: true, register: func(*kmsg.BrokerRegistrationRequest) (kerr.Code, int64) {
			if asked++; asked < 3 {
				return kerr.DuplicateBrokerRegistration, -1
			}
			return kerr.None, 42
		}}
		l, stop := start(d, nil)
		time.Sleep(5 * time.Second)
		if l.Epoch() != kafka.NoBrokerEpoch {
			t.Fatal("registered without a controller")
		}
		d.set(func(d *desk) { d.down = false })
		time.Sleep(5 * time.Second)
		if l.Epoch() != 42 || asked != 3 {
			t.Errorf("epoch %d after %d questions", l.Epoch(), asked)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestARefusalThatCannotChangeEndsTheBroker(t *testing.T) {
	f := func(code kerr.Code) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			d := &desk{register: func(*kmsg.BrokerRegistrationRequest) (kerr.Code, int64) { return code, -1 }}
			_, stop := start(d, nil)
			synctest.Wait()
			if err := stop(); !errors.Is(err, ErrRefused) || !errors.Is(err, code) {
				t.Errorf("%v: %v", code, err)
			}
		})
	}
	f(kerr.InconsistentClusterId)
	f(kerr.InvalidRequest)
	f(kerr.UnsupportedVersion)
}

func TestABrokerNobodyAnswersGivesUpAfterTheRegistrationTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{down: true}
		l := New(Config{RegistrationTimeout: time.Minute, HeartbeatInterval: time.Second, Controller: d, Log: slog.New(slog.DiscardHandler)})
		began := time.Now()
		err := l.Run(context.Background())
		if took := time.Since(began); err == nil || took < time.Minute || took > 62*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestTheBrokerAsksToStayFencedUntilItsReplicasAreInPlaceAndKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{refuse: kerr.InvalidRequest}
		l, stop := start(d, nil)
		defer stop()
		replica := kafka.TopicIDPartition{Topic: kafka.TopicID{9}}
		l.Assign(replica, kafka.DirID{1})
		l.Published(10)
		l.Ready()
		time.Sleep(5 * time.Second)
		if hb := d.last(); hb == nil || !hb.WantFence || hb.CurrentMetadataOffset != 10 {
			t.Fatalf("with an assignment queued: %+v", hb)
		}
		if l.QueuedAssignments() != 1 || closed(l.Unfenced()) {
			t.Errorf("%d queued, unfenced %v", l.QueuedAssignments(), closed(l.Unfenced()))
		}
		d.set(func(d *desk) { d.refuse = kerr.None })
		<-l.Unfenced()
		if hb := d.last(); hb.WantFence || l.QueuedAssignments() != 0 {
			t.Errorf("after the commit: %+v", hb)
		}
	})
}

func TestNoHeartbeatBeforeTheBrokerHasReadItsRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		l, stop := start(d, nil)
		defer stop()
		l.Published(4)
		time.Sleep(10 * time.Second)
		if hb := d.last(); hb != nil {
			t.Fatalf("sent %+v at offset 4 of 5", hb)
		}
		l.Published(5)
		synctest.Wait()
		if d.last() == nil {
			t.Error("caught up and still silent")
		}
	})
}

// Heartbeats are for the interval: metadata that moves on, be it by NoOps alone,
// and replicas that come and go are no reason for another.
func TestNoHeartbeatBeyondTheIntervalWhenNothingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		l, stop := start(d, nil)
		defer stop()
		l.Published(10)
		l.Ready()
		<-l.Unfenced()
		synctest.Wait()
		before := len(d.heartbeats)
		for i := range 40 { // 20 s
			l.Published(kafka.Offset(11 + i))
			l.Ready()
			l.Unassign(kafka.TopicIDPartition{Topic: kafka.TopicID{byte(i)}})
			time.Sleep(500 * time.Millisecond)
		}
		synctest.Wait()
		if n := len(d.heartbeats) - before; n > 10 {
			t.Errorf("%d heartbeats in 20 s of an interval of 2 s", n)
		}
	})
}

// A replica that was deleted has nothing to report and keeps nobody waiting.
func TestADeletedReplicaLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{refuse: kerr.InvalidRequest}
		l, stop := start(d, nil)
		defer stop()
		replica := kafka.TopicIDPartition{Topic: kafka.TopicID{9}}
		l.Assign(replica, kafka.DirID{1})
		l.Published(10)
		l.Ready()
		time.Sleep(5 * time.Second)
		l.Unassign(replica)
		<-l.Unfenced()
		if n := l.QueuedAssignments(); n != 0 {
			t.Errorf("%d queued", n)
		}
	})
}

func TestAssignmentsGoOutInBoundedBatchesAndTheNewestReportCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{down: true}
		l, stop := start(d, nil)
		defer stop()
		for i := range maxAssignments + 10 {
			l.Assign(kafka.TopicIDPartition{Topic: kafka.TopicID{9}, Partition: kafka.PartitionID(i)}, kafka.DirID{1})
		}
		l.Assign(kafka.TopicIDPartition{Topic: kafka.TopicID{9}}, kafka.DirID{2})
		d.set(func(d *desk) { d.down = false })
		time.Sleep(time.Minute)
		synctest.Wait()
		var sizes []int
		moved := 0
		for _, req := range d.assigned {
			n := 0
			for _, dir := range req.Directories {
				for _, topic := range dir.Topics {
					n += len(topic.Partitions)
					if dir.ID == [16]byte{2} {
						moved += len(topic.Partitions)
					}
				}
			}
			sizes = append(sizes, n)
		}
		if !slices.Equal(sizes, []int{maxAssignments, 10}) || moved != 1 {
			t.Errorf("sent %v, %d to the second directory", sizes, moved)
		}
	})
}

func TestAFailedDirectoryIsReportedAtOnceAndSilenceAboutItEndsTheBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		l, stop := start(d, nil)
		l.Published(10)
		l.Ready()
		<-l.Unfenced()
		l.DirFailed(kafka.DirID{2})
		synctest.Wait()
		if hb := d.last(); !slices.Equal(hb.OfflineLogDirs, [][16]byte{{2}}) {
			t.Fatalf("reported %v", hb.OfflineLogDirs)
		}
		d.set(func(d *desk) { d.down = true })
		l.DirFailed(kafka.DirID{1})
		time.Sleep(40 * time.Second)
		if err := stop(); err == nil {
			t.Error("the controller never heard, yet the broker goes on")
		}
	})
}

func TestALeavingBrokerWaitsUntilItIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		l, stop := start(d, nil)
		l.Published(10)
		l.Ready()
		<-l.Unfenced()
		left := make(chan error, 1)
		go func() { left <- l.Leave(context.Background()) }()
		synctest.Wait()
		if len(left) != 0 || !d.last().WantShutdown {
			t.Fatal("gone before the controller said so")
		}
		d.set(func(d *desk) { d.letGo = true })
		if err := <-left; err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
