// Package ctrlnode runs the controller: it becomes active when this node leads
// the quorum, puts requests before the controller's decisions, writes what they
// decide and answers after the commit, and sees to what is due without a
// request. The rules are core/controller's.
package ctrlnode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/statelog"
)

// Quorum is the log that the controller writes.
type Quorum interface {
	statelog.Log
	// LogEnd is one past the last record of the log, committed or not.
	LogEnd() kafka.Offset
	// Resign gives up leadership in epoch.
	Resign(epoch kafka.Epoch)
	// Heir tells whether this node stands for election or leads.
	Heir() bool
	// Bereaved gives the leader of an epoch before one whose process this node has
	// just proven to be gone (B3); false: it left in another way, or nobody knows.
	Bereaved(epoch kafka.Epoch) (kafka.NodeID, bool)
	// RaiseLevel finalizes kraft.version at a level, or with ask tells whether
	// that could be done. It returns once it is in the log, before the commit.
	RaiseLevel(ctx context.Context, epoch kafka.Epoch, level int16, ask bool) error
}

// Config is what a controller needs.
type Config struct {
	Self     kafka.NodeID
	Settings *controller.Settings
	Quorum   Quorum
	// Bootstrap are the records that a new cluster begins with.
	Bootstrap []controller.Versioned
	// IdleInterval: when nothing was written for so long, a NoOpRecord shows
	// followers that the quorum is alive (metadata.max.idle.interval.ms); 0:
	// never.
	IdleInterval time.Duration
	// BalanceInterval is leader.imbalance.check.interval.seconds; 0: leaders
	// stay where they are (auto.leader.rebalance.enable=false).
	BalanceInterval time.Duration
	// UncleanInterval is unclean.leader.election.interval.ms.
	UncleanInterval time.Duration
	// TokenCheck is delegation.token.expiry.check.interval.ms; 0: there are no tokens.
	TokenCheck time.Duration
	// FastFencing is ottla.fast.fencing.enable: a broker whose process is proven
	// to be gone does not keep its session.
	FastFencing bool
	// Fault is told why this node can never be the active controller, such as
	// damaged metadata. The node must stop. It must not wait for the controller.
	Fault func(error)
	Seed  uint64
	Log   *slog.Logger
}

// Node is this node's controller, active or standing by.
type Node struct {
	cfg    Config
	runner *statelog.Runner[speculative, controller.Versioned]
	origin time.Time

	// soft is made anew at each claim; decisions, which the runner serialises,
	// use it.
	soft *controller.Soft

	// mu lets Leader and Stop exclude each other: the view's goroutine may be
	// making the controller active while the node stops. It is taken before the
	// runner's.
	mu      sync.Mutex
	stopped bool    // for good
	duties  *duties // who sees to periodic work while we are active

	// watch is there while we are active and FastFencing is on.
	watch         atomic.Pointer[brokerWatch]
	fencedByProof atomic.Int64

	lateHeartbeats atomic.Int64

	// serving tells that this node is active, as the view has told it.
	serving atomic.Bool
	waiting waiting
}

// speculative is the metadata with all that was decided, and what the last change
// made of it.
type speculative struct {
	img  *image.Image
	step image.Stride
}

// New makes a controller that stands by.
func New(cfg Config) *Node {
	subject := statelog.Subject[speculative, controller.Versioned]{Apply: apply, Encode: encode, At: at}
	return &Node{cfg: cfg, runner: statelog.New(subject, cfg.Quorum), origin: time.Now()}
}

func apply(prev speculative, records []controller.Versioned) (speculative, error) {
	messages := make([]metarec.Message, len(records))
	for i, r := range records {
		messages[i] = r.Message
	}
	step, err := image.Step(prev.img, messages)
	return speculative{step.Image(), step}, err
}

func encode(dst []byte, r controller.Versioned) ([]byte, error) {
	return metarec.AppendMetadata(dst, r.Message, r.Version)
}

func at(s speculative, end kafka.Offset) speculative {
	prov := s.img.Provenance()
	if prov.Offset != end-1 {
		prov.Offset = end - 1
		s.img = s.img.At(prov)
	}
	return s
}

// Worked gives what the active controller has worked out for the records from
// begin to end when it appended them in epoch; nothing when it did not, or not
// as one batch. The view need not replay them then.
func (n *Node) Worked(epoch kafka.Epoch, begin, end kafka.Offset) []image.Stride {
	var strides []image.Stride
	for _, s := range n.runner.Steps(epoch, begin, end) {
		strides = append(strides, s.step)
	}
	return strides
}

// Active tells whether this node is the active controller.
func (n *Node) Active() bool { return n.runner.Leading() != kafka.NoEpoch }

// now is the time since the node was made.
func (n *Node) now() kafka.Instant { return kafka.Instant(time.Since(n.origin)) }

// Leader makes the controller active or stand by. The view calls it in order
// with the commits; latest holds all that is committed.
func (n *Node) Leader(leader kafka.NodeID, epoch kafka.Epoch, latest *image.Image) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		return
	}
	n.endDuties()
	served := n.serving.Swap(false)
	if leader != n.cfg.Self {
		if served {
			n.cfg.Log.Info("controller stands by", "epoch", epoch, "leader", int32(leader))
		}
		n.runner.Renounce(kerr.Errorf(kerr.NotController, "the active controller is %d", leader))
		if leader != kafka.NoNode {
			n.waiting.release()
		}
		return
	}
	n.runner.Renounce(kerr.Errorf(kerr.NotController, "this controller is becoming active"))
	n.soft = controller.NewSoft(n.cfg.Settings, rand.New(rand.NewPCG(n.cfg.Seed, uint64(epoch))))
	n.cfg.Log.Info("controller is active", "epoch", epoch)
	n.activate(epoch, latest)
	n.serving.Store(true)
	n.waiting.release()
	n.duties = startDuties(n)
	if n.cfg.FastFencing {
		w := newBrokerWatch(n)
		n.watch.Store(w)
		if id, gone := n.cfg.Quorum.Bereaved(epoch); gone {
			w.bereaved(id)
		}
	}
}

// activate claims the epoch together with what a new active controller begins
// with: a broker that registers at this very moment is not to find a cluster
// without metadata.version.
func (n *Node) activate(epoch kafka.Epoch, latest *image.Image) {
	first := func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[struct{}] {
		return controller.Activate(img, soft, now, n.cfg.Bootstrap)
	}
	var none struct{}
	n.runner.ClaimWith(epoch, speculative{img: latest}, n.cfg.Quorum.LogEnd(), bound(n, first, &none), func(err error) {
		switch {
		case err == nil, errors.Is(err, kerr.NotController):
		case errors.Is(err, kerr.RequestTimedOut):
			// The log takes no more for the moment: another try, by whoever.
			n.cfg.Log.Warn("activation failed", "epoch", epoch, "err", err)
			n.cfg.Quorum.Resign(epoch)
		default:
			// It will not go better in the next epoch, and an only voter would
			// elect itself for ever.
			n.cfg.Fault(fmt.Errorf("the controller cannot become active: %w", err))
		}
	})
}

// Applied answers what waited for the commit of records below end.
func (n *Node) Applied(end kafka.Offset) { n.runner.Applied(end) }

// Stop ends the periodic work and fails what waits. Afterwards the controller
// does not become active again, whatever Leader is told.
func (n *Node) Stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = true
	n.endDuties()
	n.serving.Store(false)
	n.runner.Renounce(kerr.Errorf(kerr.NotController, "this controller is stopping"))
	n.waiting.close()
	n.runner.Wait()
}

// endDuties is called with mu held.
func (n *Node) endDuties() {
	if w := n.watch.Swap(nil); w != nil {
		w.stop()
	}
	if n.duties != nil {
		n.duties.stop()
		n.duties = nil
	}
}

// Decide is a decision of core/controller with its request bound.
type Decide[T any] func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[T]

// Submit decides at once and calls done when the reply may be sent, once and
// from any goroutine; done must not block. When that takes longer than timeout,
// as when the disk stalls, done gets REQUEST_TIMED_OUT: the outcome is unknown
// then, and nobody hears of a commit that comes later. So it is when leadership is
// lost before the commit; NOT_CONTROLLER would have the request sent again.
func Submit[T any](n *Node, timeout time.Duration, decide Decide[T], done func(T, error)) {
	SubmitRepeatable(n, timeout, decide, func(reply T, err error) {
		var lost *statelog.Lost
		if errors.As(err, &lost) {
			err = kerr.Errorf(kerr.RequestTimedOut, "outcome unknown, the controller moved: %v", lost.Why)
		}
		done(reply, err)
	})
}

// SubmitRepeatable is Submit for requests that may be sent again although they
// had their effect: the answer is NOT_CONTROLLER when leadership is lost.
func SubmitRepeatable[T any](n *Node, timeout time.Duration, decide Decide[T], done func(T, error)) {
	var once sync.Once
	answer := func(reply T, err error) { once.Do(func() { done(reply, err) }) }
	late := time.AfterFunc(timeout, func() {
		var none T
		answer(none, kerr.Errorf(kerr.RequestTimedOut, "not committed within %v; the outcome is unknown", timeout))
	})
	var reply T
	n.post(func() {
		n.runner.Post(bound(n, decide, &reply), func(err error) {
			late.Stop()
			answer(reply, err)
		})
	})
}

// submit is Submit for those who can wait.
func submit[T any](n *Node, decide Decide[T], done func(T, error)) {
	var reply T
	n.runner.Do(bound(n, decide, &reply), func(err error) { done(reply, err) })
}

// bound is a decision as the runner takes it, at the time it is taken; its reply
// goes into reply.
func bound[T any](n *Node, decide Decide[T], reply *T) statelog.Decide[speculative, controller.Versioned] {
	return func(s speculative, _ kafka.Offset) (statelog.Change[controller.Versioned], error) {
		d := decide(n.now(), s.img, n.soft)
		*reply = d.Reply
		return statelog.Change[controller.Versioned]{Records: d.Records, Atomic: d.Atomic, Then: d.Then}, d.Err
	}
}
