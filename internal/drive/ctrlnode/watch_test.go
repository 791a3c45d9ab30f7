package ctrlnode

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
)

// stuck is how long a test waits for what happens within milliseconds.
const stuck = 20 * time.Second

// watchedBroker is a broker that serves, with a listener that is really there.
type watchedBroker struct {
	q        *quorumOfOne
	listener net.Listener
	epoch    kafka.BrokerEpoch
}

func startWatched(t *testing.T) *watchedBroker {
	t.Helper()
	q := standby(t, 0)
	q.node.cfg.FastFencing = true
	t.Cleanup(q.node.Stop)
	q.lead(1)
	q.commit()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	b := &watchedBroker{q: q, listener: listener}
	port := uint16(listener.Addr().(*net.TCPAddr).Port)
	registered := submitted(q, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.Registered] {
		return controller.RegisterBroker(img, soft, now, controller.Registration{
			Broker: 7, ClusterID: "c", Incarnation: kafka.UUID{1}, Dirs: []kafka.DirID{{9, 15: 200}},
			Endpoints: []image.Endpoint{{Name: "PLAINTEXT", Host: "127.0.0.1", Port: port}},
			Features:  []image.VersionRange{{Name: image.MetadataVersion, Min: int16(image.MinLevel), Max: int16(image.LatestLevel)}},
		})
	})
	b.epoch = registered.Epoch
	if b.beat(); b.fenced() {
		t.Fatal("the broker stays fenced")
	}
	return b
}

// submitted decides, commits, and gives the reply.
func submitted[T any](q *quorumOfOne, decide Decide[T]) T {
	q.t.Helper()
	replies := make(chan T, 1)
	submit(q.node, decide, func(reply T, err error) {
		if err != nil {
			q.t.Error(err)
		}
		replies <- reply
	})
	q.commit()
	return <-replies
}

func (b *watchedBroker) beat() {
	submitted(b.q, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.Beaten] {
		return controller.Heartbeat(img, soft, now, controller.Beat{Broker: 7, Epoch: b.epoch, MetadataOffset: img.NextOffset() - 1})
	})
}

func (b *watchedBroker) fenced() bool {
	b.q.mu.Lock()
	defer b.q.mu.Unlock()
	known, ok := b.q.img.Broker(7)
	return !ok || known.Fenced
}

// hears tells of a heartbeat on a connection, and waits until the listeners were
// reached. The result ends the connection.
func (b *watchedBroker) hears(t *testing.T, conn uint64) (cut func()) {
	t.Helper()
	ctx, cut := context.WithCancel(context.Background())
	t.Cleanup(cut)
	b.q.node.Heard(ctx, &transport.ConnInfo{ID: conn}, 7, b.epoch)
	b.until(t, "the listener is reached", func() bool {
		w := b.q.node.watch.Load()
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.brokers[7].addrs) > 0
	})
	return cut
}

func (b *watchedBroker) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(stuck); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		b.q.commit()
	}
}

// B9: a broker is fenced long before its session ends when its connection was
// reset and its listeners refuse.
func TestABrokerThatIsGoneIsFencedAtOnce(t *testing.T) {
	b := startWatched(t)
	cut := b.hears(t, 1)
	if err := b.listener.Close(); err != nil {
		t.Fatal(err)
	}
	cut()
	b.until(t, "the broker is fenced", b.fenced)
	b.until(t, "it is counted", func() bool { return b.q.node.FencedByProof() == 1 })
}

// A connection that ends proves nothing while a listener answers, and neither
// does an older one after the heartbeats have moved to another.
func TestABrokerThatAnswersIsNotFenced(t *testing.T) {
	b := startWatched(t)
	cutFirst := b.hears(t, 1)
	cut := b.hears(t, 2)
	cutFirst()
	cut()
	reached := make(chan struct{}, 2)
	go func() { // ends with the listener
		for {
			conn, err := b.listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
			reached <- struct{}{}
		}
	}()
	for range 2 { // the probe, and the look after the end
		select {
		case <-reached:
		case <-time.After(stuck):
			t.Fatal("nobody looks whether the broker is there")
		}
	}
	b.q.node.Stop() // waits for what is under way
	if b.q.commit(); b.fenced() || b.q.node.FencedByProof() != 0 {
		t.Error("fenced")
	}
}

// The controller that led before is gone, and so is the broker in its process,
// which never sent a heartbeat to the one that leads now.
func TestTheBrokerOfALeaderThatIsGoneIsFencedAtOnce(t *testing.T) {
	for _, refuses := range []bool{true, false} {
		b := startWatched(t)
		if refuses {
			if err := b.listener.Close(); err != nil {
				t.Fatal(err)
			}
		}
		b.q.mu.Lock()
		b.q.bereaved = 7
		b.q.mu.Unlock()
		b.q.lead(2)
		if refuses {
			b.until(t, "the broker is fenced", b.fenced)
			continue
		}
		b.q.commit()
		b.q.node.watch.Load().work.Wait()
		if b.q.commit(); b.fenced() {
			t.Error("a broker that accepts connections is fenced")
		}
	}
}

// Nobody is watched where the key is off, nor a broker of the same process.
func TestWhoIsNotWatched(t *testing.T) {
	b := startWatched(t)
	b.q.node.Heard(t.Context(), &transport.ConnInfo{ID: 1, InProcess: true}, 7, b.epoch)
	if w := b.q.node.watch.Load(); len(w.brokers) != 0 {
		t.Errorf("%d brokers are watched", len(w.brokers))
	}
	b.q.node.cfg.FastFencing = false
	b.q.lead(2)
	if b.q.node.watch.Load() != nil {
		t.Error("watched although it is switched off")
	}
	b.q.node.Heard(t.Context(), &transport.ConnInfo{ID: 1}, 7, b.epoch)
}
