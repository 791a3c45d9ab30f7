package raftnode

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// inboxSize bounds what waits for the loop. When it is full, requests of peers
// and reports of the disk wait in their own goroutines, and Append answers
// ErrTooBusy.
const inboxSize = 1024

// SnapshotID names a snapshot: end offset (exclusive) and epoch.
type SnapshotID = raft.SnapshotID

// Node is a running member of the quorum.
type Node struct {
	cfg    Config
	origin time.Time // of Instants
	log    Log
	inbox  chan item
	view   atomic.Pointer[View]
	latest atomic.Pointer[SnapshotID] // to load when the log does not reach back

	// The fields below belong to the loop.
	core      *raft.Core
	calls     map[raft.Call]received // requests of peers that wait for an answer
	lastCall  raft.Call
	payload   []byte // bytes of the answer being handled
	proposals map[uint64]*proposal
	lastTick  uint64
	pending   []raft.Pending // sends that wait for a sync
	readBuf   []byte
	fault     error // the fatal one; from then on the node only refuses
	started   bool
	clean     cleaning
	stats     stats

	writer    *writer
	unsynced  atomic.Int64 // bytes handed to Append that are not durable
	replies   sync.Pool    // of channels for Append
	listeners listeners

	stopOnce sync.Once
	stopAsk  chan struct{}
	done     chan struct{} // closed when the loop has ended
	wg       sync.WaitGroup
}

// item is something the loop has to look at.
type item interface{ run(n *Node) }

// Start reads the metadata directory and joins the quorum. When it returns, the
// node answers; an only voter leads already and its election is durable. ctx
// ends the node like Stop without a grace period.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	dir, err := openDir(cfg)
	if err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, origin: time.Now(), log: dir.log,
		inbox: make(chan item, inboxSize), stopAsk: make(chan struct{}), done: make(chan struct{}),
		calls: map[raft.Call]received{}, proposals: map[uint64]*proposal{},
	}
	n.writer = newWriter(n)
	n.listeners.init(n)
	core, effects, err := raft.New(0, cfg.core(), dir.stored)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", cfg.Dir, err), dir.log.Close())
	}
	n.core = core
	n.clean.begin(n)
	n.carryOut(effects)
	if n.fault != nil {
		return nil, errors.Join(n.fault, dir.log.Close())
	}
	n.started = true
	n.wg.Go(n.writer.run)
	n.wg.Go(func() { n.loop(ctx) })
	return n, nil
}

// loop owns the core. Everyone else reaches it through the inbox, or reads the
// view, which is replaced whole and never changed.
func (n *Node) loop(ctx context.Context) {
	defer close(n.done)
	timer := time.NewTimer(n.untilDeadline())
	defer timer.Stop()
	ask := n.stopAsk
	for !n.leaving() {
		select {
		case it := <-n.inbox:
			it.run(n)
		case <-timer.C:
			n.step(raft.Passed{})
		case <-ask:
			ask = nil
		case <-ctx.Done():
			return
		}
		n.clean.turn(n)
		timer.Reset(n.untilDeadline())
	}
}

// leaving tells that a node which was asked to stop has done so in good order.
func (n *Node) leaving() bool {
	return n.stopAsked() && (n.fault != nil || n.core.Finished())
}

func (n *Node) stopAsked() bool {
	select {
	case <-n.stopAsk:
		return true
	default:
		return false
	}
}

func (n *Node) ended() bool {
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

// put hands an item to the loop; it waits while the inbox is full.
func (n *Node) put(it item) error {
	select {
	case n.inbox <- it:
		return nil
	case <-n.done:
		return ErrStopped
	}
}

func (n *Node) now() kafka.Instant { return kafka.Instant(time.Since(n.origin)) }

func (n *Node) nowMs() int64 { return time.Now().UnixMilli() }

func (n *Node) untilDeadline() time.Duration {
	at := min(n.stats.deadline, n.clean.next)
	if at == kafka.Never {
		return time.Hour
	}
	return max(at.Sub(n.now()), 0)
}

// Resign gives up leading an epoch; it does nothing when the node does not
// lead it.
func (n *Node) Resign(epoch kafka.Epoch) { _ = n.put(event{raft.Resign{Epoch: epoch}}) }

// event is an item that is an event of the core as it is.
type event struct{ ev raft.Event }

func (e event) run(n *Node) { n.step(e.ev) }

// Stop leaves the quorum in good order: a leader hands over and stays until
// another leads, or ctx ends. Then everything is synced and closed.
func (n *Node) Stop(ctx context.Context) error {
	n.stopOnce.Do(func() {
		_ = n.put(event{raft.Shutdown{Until: kafka.Never}})
		close(n.stopAsk)
	})
	select {
	case <-n.done:
	case <-ctx.Done():
		_ = n.put(event{raft.Shutdown{Until: 0}}) // it has waited long enough
		<-n.done
	}
	n.listeners.stop()
	n.writer.stop()
	n.wg.Wait()
	n.abandon()
	return n.log.Close()
}

// abandon answers who still waits for the loop, which has ended.
func (n *Node) abandon() {
	n.emptyInbox()
	for _, p := range n.proposals {
		p.done(kafka.NoOffset, ErrStopped)
	}
	for _, r := range n.calls {
		r.refuse(n)
	}
}

// emptyInbox refuses what came when nobody looks any more.
func (n *Node) emptyInbox() {
	for {
		select {
		case it := <-n.inbox:
			switch it := it.(type) {
			case *proposal:
				it.done(kafka.NoOffset, ErrStopped)
			case received:
				it.refuse(n)
			case *describeQuorum:
				it.reply(refuseDescribe(it.req, kerr.BrokerNotAvailable, "the node is stopping"))
			}
		default:
			return
		}
	}
}

// fatal makes the node refuse everything from now on.
func (n *Node) fatal(err error) {
	if n.fault != nil {
		return
	}
	n.fault = err
	for _, p := range n.proposals {
		p.done(kafka.NoOffset, ErrStopped)
	}
	clear(n.proposals)
	if n.started {
		n.cfg.Log.Error("quorum node cannot go on", "dir", n.cfg.Dir, "err", err)
		go n.cfg.Fatal(err) // whoever is told may stop this node and wait for it
	}
}
