package ctrlnode

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
)

const (
	// probeEvery is how often a broker's listeners are tried while it is well:
	// only what was reached can prove anything later.
	probeEvery = time.Minute
	// probeLimit is how long one such attempt may take.
	probeLimit = time.Second
	// goneAfter lies between the two refusals that are proof.
	goneAfter = 50 * time.Millisecond
	// maxWatched bounds the brokers that are watched.
	maxWatched = 4096
)

// brokerWatch sees, while this controller is active, to brokers whose process is
// gone: a reset connection makes it look closer, refusals by all listeners that
// it had reached are proof (B9). What follows is decided by core/controller.
type brokerWatch struct {
	node *Node
	ctx  context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	ended   bool
	brokers map[kafka.NodeID]*watched
	work    sync.WaitGroup // grows with mu held and ended unset
}

// watched is one incarnation of a broker.
type watched struct {
	epoch  kafka.BrokerEpoch
	conn   uint64 // the connection that carries its heartbeats
	probed time.Time
	dialer *transport.Dialer
	addrs  []string // of its listeners
}

func newBrokerWatch(n *Node) *brokerWatch {
	w := &brokerWatch{node: n, brokers: map[kafka.NodeID]*watched{}}
	w.ctx, w.end = context.WithCancel(context.Background())
	return w
}

// stop ends the watch and waits for what it has under way.
func (w *brokerWatch) stop() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.end()
	w.work.Wait()
}

// Heard notes which connection a broker that is not fenced sends its heartbeats
// on; ctx ends with the connection. A broker in this very process is not
// watched.
func (n *Node) Heard(ctx context.Context, conn *transport.ConnInfo, id kafka.NodeID, epoch kafka.BrokerEpoch) {
	w := n.watch.Load()
	if w == nil || conn.InProcess {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.brokers[id]
	switch {
	case w.ended:
		return
	case b == nil && len(w.brokers) >= maxWatched:
		return
	case b == nil || b.epoch != epoch:
		b = &watched{epoch: epoch, dialer: &transport.Dialer{}}
		w.brokers[id] = b
	}
	if b.conn != conn.ID {
		b.conn = conn.ID
		context.AfterFunc(ctx, func() { w.lost(id, b, conn.ID) })
	}
	if now := time.Now(); now.Sub(b.probed) >= probeEvery {
		b.probed = now
		w.work.Go(func() { w.probe(id, b) })
	}
}

// bereaved looks after the broker of the controller that led before and whose
// process is proven to be gone (B3). A controller and a broker of one id are one
// process. This controller never had the connection that carried the heartbeats;
// the quorum's proof stands in for it, and the broker's listeners have to refuse
// as well.
func (w *brokerWatch) bereaved(id kafka.NodeID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.work.Go(func() {
		if at := w.whereabouts(id); at.epoch != kafka.NoBrokerEpoch {
			w.fenceIf(id, at, evidence{"it led the quorum and its process is gone, and its listeners refuse", (&transport.Dialer{}).RefusedTwice})
		}
	})
}

// whereabouts is a broker's epoch, NoBrokerEpoch when it is not registered, and
// its listeners.
type whereabouts struct {
	epoch kafka.BrokerEpoch
	addrs []string
}

func (w *brokerWatch) whereabouts(id kafka.NodeID) whereabouts {
	at := ask(w, func(_ kafka.Instant, img *image.Image, _ *controller.Soft) controller.Decision[*whereabouts] {
		known, ok := img.Broker(id)
		if !ok {
			return controller.Decision[*whereabouts]{}
		}
		at := &whereabouts{epoch: known.Epoch}
		for _, e := range known.Endpoints {
			at.addrs = append(at.addrs, net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
		}
		return controller.Decision[*whereabouts]{Reply: at}
	})
	if at == nil {
		return whereabouts{epoch: kafka.NoBrokerEpoch}
	}
	return *at
}

// probe connects to the listeners of a broker that is well.
func (w *brokerWatch) probe(id kafka.NodeID, b *watched) {
	var addrs []string
	if at := w.whereabouts(id); at.epoch == b.epoch {
		addrs = at.addrs
	}
	for _, addr := range addrs {
		ctx, cancel := context.WithTimeout(w.ctx, probeLimit)
		if conn, err := b.dialer.Dial(ctx, addr); err == nil {
			_ = conn.Close()
		}
		cancel()
	}
	w.mu.Lock()
	b.addrs = addrs
	w.mu.Unlock()
}

// lost is called when a connection that carried heartbeats has ended.
func (w *brokerWatch) lost(id kafka.NodeID, b *watched, conn uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || b.conn != conn || w.brokers[id] != b {
		return
	}
	addrs := b.addrs
	w.work.Go(func() { w.lookCloser(id, b, addrs) })
}

// lookCloser fences the broker if its process is gone.
func (w *brokerWatch) lookCloser(id kafka.NodeID, b *watched, addrs []string) {
	w.node.cfg.Log.Debug("heartbeat connection ended", "broker", id, "epoch", b.epoch, "reached", addrs)
	w.fenceIf(id, whereabouts{b.epoch, addrs}, evidence{"its connection was reset and its listeners refuse", b.dialer.Gone})
}

// evidence is why a broker's process is taken for gone.
type evidence struct {
	text string
	// sought looks at the broker's listeners: two refusals, a pause apart.
	sought func(ctx context.Context, pause time.Duration, addrs ...string) bool
}

// fenceIf fences a broker if it is to be suspected and there is evidence.
func (w *brokerWatch) fenceIf(id kafka.NodeID, at whereabouts, e evidence) {
	epoch := at.epoch
	suspected := ask(w, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[bool] {
		return controller.Suspect(img, soft, now, id, epoch)
	})
	if !suspected {
		return
	}
	if !e.sought(w.ctx, goneAfter, at.addrs...) {
		ask(w, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[struct{}] {
			return controller.Trust(img, soft, id)
		})
		return
	}
	fenced := ask(w, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[bool] {
		return controller.FenceGone(img, soft, now, id, epoch)
	})
	if !fenced {
		w.node.cfg.Log.Info("broker's listeners refuse, and it keeps its session", "broker", id, "epoch", epoch, "listeners", at.addrs)
		return
	}
	w.node.fencedByProof.Add(1)
	w.node.cfg.Log.Warn("broker is fenced: its process is gone", "broker", id, "epoch", epoch,
		"evidence", e.text, "listeners", at.addrs)
}

// ask decides and waits for the reply; the zero value stands for a refusal, and
// for the end of the watch.
func ask[T any](w *brokerWatch, decide Decide[T]) T {
	replies := make(chan T, 1)
	submit(w.node, decide, func(reply T, err error) {
		if err != nil {
			var none T
			reply = none
		}
		replies <- reply
	})
	select {
	case reply := <-replies:
		return reply
	case <-w.ctx.Done():
		var none T
		return none
	}
}

// FencedByProof counts the brokers that were fenced because their process was
// gone.
func (n *Node) FencedByProof() int64 { return n.fencedByProof.Load() }
