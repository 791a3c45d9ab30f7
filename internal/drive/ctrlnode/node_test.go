package ctrlnode

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
)

// quorumOfOne commits what is appended when commit is called, and keeps it.
type quorumOfOne struct {
	t        *testing.T
	mu       sync.Mutex
	end      kafka.Offset
	pending  []appended
	worked   int      // batches that the controller knew when they were committed
	names    []string // of all records, in order
	resigned []kafka.Epoch
	img      *image.Image
	node     *Node
	refuse   []error // what the next appends answer
	faults   []error
	raised   int16        // kraft.version
	bereaved kafka.NodeID // who led before and is gone; 0 is nobody
	rises    bool         // it stands for election or leads
}

// appended is a batch that waits for its commit.
type appended struct {
	epoch  kafka.Epoch
	end    kafka.Offset
	framed [][]byte
}

func (q *quorumOfOne) Append(epoch kafka.Epoch, framed [][]byte) (kafka.Offset, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.refuse) > 0 {
		err := q.refuse[0]
		q.refuse = q.refuse[1:]
		return 0, err
	}
	q.end += kafka.Offset(len(framed))
	q.pending = append(q.pending, appended{epoch, q.end, framed})
	return q.end, nil
}

func (q *quorumOfOne) LogEnd() kafka.Offset {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.end
}

func (q *quorumOfOne) Heir() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rises
}

func (q *quorumOfOne) Bereaved(kafka.Epoch) (kafka.NodeID, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bereaved, q.bereaved != 0
}

func (q *quorumOfOne) RaiseLevel(_ context.Context, _ kafka.Epoch, level int16, ask bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !ask {
		q.raised = level
	}
	return nil
}

func (q *quorumOfOne) Resign(epoch kafka.Epoch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.resigned = append(q.resigned, epoch)
}

// commit applies what is pending and tells the controller, which may have kept
// back more until then.
func (q *quorumOfOne) commit() {
	q.t.Helper()
	for more := true; more; {
		q.mu.Lock()
		for _, b := range q.pending {
			q.replay(b)
		}
		q.pending = nil
		end := q.end
		q.mu.Unlock()
		q.node.Applied(end)
		q.mu.Lock()
		more = len(q.pending) > 0
		q.mu.Unlock()
	}
}

// replay applies a batch. What the controller has worked out for it must be the
// same.
func (q *quorumOfOne) replay(b appended) {
	q.t.Helper()
	var records []metarec.Message
	for _, raw := range b.framed {
		m, _, err := metarec.ReadMetadata(raw)
		if err != nil {
			q.t.Fatal(err)
		}
		records = append(records, m)
		q.names = append(q.names, m.MessageName())
	}
	next, _, err := image.Apply(q.img, records)
	if err != nil {
		q.t.Fatal(err)
	}
	short := image.NewReplay(q.img)
	if short.Take(b.end, q.node.Worked(b.epoch, b.end-kafka.Offset(len(b.framed)), b.end)...) {
		q.worked++
		if got, _ := short.Done(); !got.Equal(next) {
			q.t.Errorf("worked out for the batch that ends at %d: %+v", b.end, image.Between(next, got))
		}
	}
	q.img = next
}

func (q *quorumOfOne) written() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.names)
}

// anyKeys knows no configuration key.
type anyKeys struct{}

func (anyKeys) Check(image.Resource, map[string]string) error { return nil }
func (anyKeys) Known(image.ResourceType, string) bool         { return true }

func (anyKeys) List(image.ResourceType, string) (string, bool) { return "", false }

func standby(t *testing.T, idle time.Duration) *quorumOfOne {
	t.Helper()
	q := &quorumOfOne{t: t, img: image.Empty()}
	q.node = New(Config{
		Self: 1, Quorum: q, Bootstrap: controller.Bootstrap(image.LatestLevel), IdleInterval: idle, Log: slog.New(slog.DiscardHandler),
		Fault: func(err error) { q.faults = append(q.faults, err) },
		Settings: &controller.Settings{
			Node: 1, ClusterID: "c", SessionTimeout: 9 * time.Second, DefaultPartitions: 1, DefaultReplication: 1, Keys: anyKeys{},
			Supported: []image.VersionRange{{Name: image.MetadataVersion, Min: int16(image.MinLevel), Max: int16(image.LatestLevel)}},
		},
	})
	return q
}

func (q *quorumOfOne) lead(epoch kafka.Epoch) { q.node.Leader(1, epoch, q.img) }

func registerBroker() Decide[controller.Registered] {
	return func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.Registered] {
		return controller.RegisterBroker(img, soft, now, controller.Registration{
			Broker: 7, ClusterID: "c", Incarnation: kafka.UUID{1}, Dirs: []kafka.DirID{{9, 15: 200}},
			Endpoints: []image.Endpoint{{Name: "PLAINTEXT", Host: "h", Port: 1}},
			Features:  []image.VersionRange{{Name: image.MetadataVersion, Min: int16(image.MinLevel), Max: int16(image.LatestLevel)}},
		})
	}
}

func TestANewClusterBeginsWithItsBootstrapRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := standby(t, 0)
		defer q.node.Stop()
		q.lead(1)
		q.commit()
		want := []string{"BeginTransactionRecord", "FeatureLevelRecord", "EndTransactionRecord"}
		if got := q.written(); !slices.Equal(got, want) || q.img.Level() != image.LatestLevel {
			t.Errorf("wrote %v, level %v", got, q.img.Level())
		}
		q.lead(2)
		q.commit()
		if got := q.written(); !slices.Equal(got, want) {
			t.Errorf("the second epoch wrote %v more", got[len(want):])
		}
	})
}

// "The view need not replay them then."
func TestTheActiveControllerKnowsWhatItsBatchesMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := standby(t, 0)
		defer q.node.Stop()
		q.lead(1)
		q.commit()
		Submit(q.node, time.Hour, registerBroker(), func(controller.Registered, error) {})
		q.commit()
		if _, ok := q.img.Broker(7); !ok || q.worked != 2 {
			t.Errorf("knew %d batches, broker registered: %v", q.worked, ok)
		}
		if made := q.node.Worked(1, 0, q.end); made != nil {
			t.Errorf("still knows what was applied: %v", made)
		}
	})
}

func TestOnlyTheActiveControllerDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := standby(t, 0)
		defer q.node.Stop()
		answered := make(chan error, 1)
		ask := func() {
			Submit(q.node, time.Hour, registerBroker(), func(_ controller.Registered, err error) { answered <- err })
		}
		if ask(); !errors.Is(<-answered, kerr.NotController) {
			t.Error("decided while standing by")
		}
		q.lead(1)
		q.commit()
		q.node.Leader(2, 2, q.img)
		if ask(); !errors.Is(<-answered, kerr.NotController) {
			t.Error("decided after leadership was lost")
		}
	})
}

// "REQUEST_TIMED_OUT, message: outcome unknown, the controller moved": what was
// appended may be committed by the next controller. A request that may be
// repeated, or wrote nothing, is to be sent to that one.
func TestB8LosingLeadershipBeforeTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := standby(t, 0)
		defer q.node.Stop()
		q.lead(1)
		q.commit()
		answered := map[string]error{}
		note := func(what string) func(controller.Registered, error) {
			return func(_ controller.Registered, err error) { answered[what] = err }
		}
		readOnly := func(kafka.Instant, *image.Image, *controller.Soft) (d controller.Decision[controller.Registered]) {
			return d
		}
		Submit(q.node, time.Hour, registerBroker(), note("written"))
		SubmitRepeatable(q.node, time.Hour, registerBroker(), note("repeatable"))
		Submit(q.node, time.Hour, readOnly, note("read"))
		if len(answered) != 0 {
			t.Errorf("answered before the commit: %v", answered)
		}
		q.node.Leader(2, 2, q.img)
		f := func(what string, want kerr.Code, says string) {
			t.Helper()
			if err := answered[what]; kerr.Of(err) != want || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", what, err)
			}
		}
		f("written", kerr.RequestTimedOut, "outcome unknown, the controller moved")
		f("repeatable", kerr.NotController, "the active controller is 2")
		f("read", kerr.NotController, "the active controller is 2")
	})
}

// "the outcome is unknown then, and nobody hears of a commit that comes later."
func TestAReplyThatDoesNotComeInTimeIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := standby(t, 0)
		defer q.node.Stop()
		q.lead(1)
		q.commit()
		var answers []error
		begun := time.Now()
		answered := make(chan struct{}, 2)
		Submit(q.node, time.Second, registerBroker(), func(_ controller.Registered, err error) {
			answers = append(answers, err)
			answered <- struct{}{}
		})
		<-answered
		if took := time.Since(begun); len(answers) != 1 || !errors.Is(answers[0], kerr.RequestTimedOut) || took != time.Second {
			t.Errorf("answered %v after %v", answers, took)
		}
		q.commit()
		if _, ok := q.img.Broker(7); !ok || len(answers) != 1 {
			t.Errorf("after the late commit: registered %v, answers %v", ok, answers)
		}
	})
}

// A broker that could not be fenced because the log was too busy is found again.
func TestALogThatIsTooBusyLosesNoSilentBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := standby(t, 0)
		defer q.node.Stop()
		q.lead(1)
		q.commit()
		q.running(t)
		q.mu.Lock()
		q.refuse = []error{kerr.RequestTimedOut}
		q.mu.Unlock()
		time.Sleep(12 * time.Second)
		q.commit()
		if b, _ := q.img.Broker(7); !b.Fenced || len(q.refuse) != 0 {
			t.Errorf("fenced %v after a refusal of the log, %d refusals left", b.Fenced, len(q.refuse))
		}
	})
}

// A wish to leave that the log refused is heard when it is repeated: the
// leaderships are moved first.
func TestALogThatIsTooBusyLosesNoWishToLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := standby(t, 0)
		defer q.node.Stop()
		q.lead(1)
		q.commit()
		q.running(t)
		b, _ := q.img.Broker(7)
		submit(q.node, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]controller.CreatedTopic] {
			return controller.CreateTopics(img, soft, controller.TopicsToCreate{Topics: []controller.NewTopic{{Name: "a", Partitions: 1, Replication: 1}}})
		}, func([]controller.CreatedTopic, error) {})
		q.commit()
		q.refuse = []error{kerr.RequestTimedOut}
		for range 2 {
			submit(q.node, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.Beaten] {
				return controller.Heartbeat(img, soft, now, controller.Beat{Broker: 7, Epoch: b.Epoch, MetadataOffset: 1 << 40, WantShutDown: true})
			}, func(controller.Beaten, error) {})
		}
		q.commit()
		if b, _ := q.img.Broker(7); !b.ShuttingDown {
			t.Error("the second wish to leave was taken for a repetition of one that was never written")
		}
	})
}

// running registers broker 7 and unfences it.
func (q *quorumOfOne) running(t *testing.T) {
	t.Helper()
	submit(q.node, registerBroker(), func(controller.Registered, error) {})
	q.commit()
	b, ok := q.img.Broker(7)
	if !ok {
		t.Fatal("not registered")
	}
	submit(q.node, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.Beaten] {
		return controller.Heartbeat(img, soft, now, controller.Beat{Broker: 7, Epoch: b.Epoch, MetadataOffset: 1 << 40})
	}, func(controller.Beaten, error) {})
	q.commit()
	if b, _ := q.img.Broker(7); b.Fenced {
		t.Fatal("not unfenced")
	}
}

// An activation that cannot go better in another epoch is no reason to resign:
// an only voter would elect itself for ever.
func TestAnActivationThatCanNeverSucceedIsAFault(t *testing.T) {
	f := func(what string, arrange func(*quorumOfOne), faults, resigned int) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			q := standby(t, 0)
			defer q.node.Stop()
			arrange(q)
			q.lead(1)
			if len(q.faults) != faults || len(q.resigned) != resigned {
				t.Errorf("%s: faults %v, resigned %v", what, q.faults, q.resigned)
			}
		})
	}
	f("unknown level", func(q *quorumOfOne) { q.node.cfg.Bootstrap = controller.Bootstrap(99) }, 1, 0)
	f("damaged metadata", func(q *quorumOfOne) {
		img, _, err := image.Apply(image.Empty(), []metarec.Message{&metarec.TopicRecord{Name: "a", TopicId: kafka.UUID{1, 15: 9}}})
		if err != nil {
			t.Fatal(err)
		}
		q.img = img
	}, 1, 0)
	f("too busy", func(q *quorumOfOne) { q.refuse = []error{kerr.RequestTimedOut} }, 0, 1)
	f("not the leader any more", func(q *quorumOfOne) { q.refuse = []error{kerr.NotController} }, 0, 0)
	f("nothing wrong", func(*quorumOfOne) {}, 0, 0)
}

// The view's goroutine may tell of a leader while the node stops. Whichever
// comes first, no duty is left; the bubble would not end with one.
func TestStopAndLeaderMayMeet(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			q := standby(t, time.Second)
			q.lead(1)
			var both sync.WaitGroup
			both.Go(func() { q.lead(2) })
			both.Go(q.node.Stop)
			both.Wait()
			q.lead(3)
			if q.node.Active() {
				t.Error("active after Stop")
			}
		})
	}
}

func TestABrokerThatFallsSilentIsFencedAndANoOpShowsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := standby(t, 500*time.Millisecond)
		defer q.node.Stop()
		q.lead(1)
		q.commit()
		q.running(t)
		time.Sleep(12 * time.Second)
		q.commit()
		if b, _ := q.img.Broker(7); !b.Fenced {
			t.Error("silent for longer than its session and not fenced")
		}
		noOps := 0
		for _, name := range q.written() {
			if name == "NoOpRecord" {
				noOps++
			}
		}
		if noOps < 20 || noOps > 24 {
			t.Errorf("%d NoOpRecords in 12 s at one each 500 ms", noOps)
		}
	})
}

func TestAControllerRegistersUntilTheImageHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []*kmsg.ControllerRegistrationRequest
		refuse := 2
		r := NewRegistrar(Registration{Node: 1, Incarnation: kafka.UUID{5}, Listeners: []image.Endpoint{{Name: "CONTROLLER", Host: "h", Port: 9}}},
			func(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
				asked = append(asked, req.(*kmsg.ControllerRegistrationRequest))
				resp := kmsg.NewPtrControllerRegistrationResponse()
				if len(asked) <= refuse {
					resp.ErrorCode = int16(kerr.NotController)
				}
				return resp, nil
			}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go r.Run(ctx)
		r.Publish(image.Delta{}, image.Empty()) // no metadata.version yet: no record for it
		synctest.Wait()
		if len(asked) != 0 {
			t.Fatal("asked before the cluster has a record for it")
		}
		img, _, err := image.Apply(image.Empty(), []metarec.Message{&metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: int16(image.LatestLevel)}})
		if err != nil {
			t.Fatal(err)
		}
		r.Publish(image.Delta{}, img)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(asked) != 3 || asked[0].Listeners[0].Port != 9 {
			t.Errorf("asked %d times", len(asked))
		}
	})
}

// Rule: the active controller tells how long ago it has heard of each broker, at most
// the session timeout; one that stands by tells nothing.
func TestContactsTellHowLongBrokersAreSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := standby(t, 0)
		defer q.node.Stop()
		if got := q.node.Contacts(); len(got) != 0 {
			t.Errorf("a standby tells %v", got)
		}
		q.lead(1)
		q.commit()
		q.running(t)
		began := q.node.Contacts()[7]
		time.Sleep(3 * time.Second)
		if got := q.node.Contacts()[7]; got != began+3*time.Second {
			t.Errorf("silent for %v after 3 s, %v before", got, began)
		}
		time.Sleep(time.Minute)
		if got := q.node.Contacts(); got[7] > 9*time.Second {
			t.Errorf("silent for %v, more than its session", got)
		}
		q.node.HeartbeatTimedOut()
		if q.node.HeartbeatsTimedOut() != 1 {
			t.Error("a late heartbeat does not count")
		}
	})
}
