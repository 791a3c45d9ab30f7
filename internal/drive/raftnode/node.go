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

// Node is a running member of the quorum. Its methods may be called from any
// goroutine.
type Node struct {
	cfg     Config
	clock   clock
	folder  folder
	wire    translator
	log     Log
	inbox   chan item
	outer   chan item // what strangers ask, see outer.go
	view    atomic.Pointer[View]
	latest  atomic.Pointer[SnapshotID] // to load when the log does not reach back
	lacks   atomic.Bool                // see SnapshotWanted
	mourned atomic.Pointer[proof]      // see Bereaved
	loop    *loop

	writer    *writer
	listeners *listeners
	audience  audience
	unsynced  atomic.Int64 // bytes handed to Append that are not durable
	replies   sync.Pool    // of channels for Append

	askOnce, endOnce sync.Once
	stopAsk          chan struct{}
	handed           chan struct{}   // closed when nobody needs this node as a leader any more
	life             context.Context // ends with the node
	die              context.CancelFunc
	done             chan struct{} // closed when the loop has ended
	wg               sync.WaitGroup
	closed           error // of the log
}

// item is something the loop has to look at.
type item interface{ run(l *loop) }

// clock is the node's time.
type clock struct{ origin time.Time }

func (c clock) now() kafka.Instant { return kafka.Instant(time.Since(c.origin)) }

// ms is the time of day, in milliseconds since 1970.
func (c clock) ms() int64 { return time.Now().UnixMilli() }

// Start reads the metadata directory and joins the quorum. When it returns, the
// node answers; an only voter leads already and its election is durable. The end
// of ctx ends the loop without a grace period; Stop is called in any case.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	dir, err := openDir(cfg)
	if err != nil {
		return nil, err
	}
	return run(ctx, cfg, dir)
}

// run starts a node on a directory that was read.
func run(ctx context.Context, cfg Config, dir *opened) (_ *Node, err error) {
	n := &Node{
		cfg: cfg, clock: clock{time.Now()}, folder: folder{cfg.FS, cfg.Dir}, wire: translator{cfg.ClusterID, cfg.Listener, &complaints{log: cfg.Log}},
		log: dir.log, inbox: make(chan item, inboxSize), outer: make(chan item, outerSize), stopAsk: make(chan struct{}), handed: make(chan struct{}), done: make(chan struct{}),
	}
	n.life, n.die = context.WithCancel(context.Background())
	n.writer, n.listeners = newWriter(n), newListeners(n)
	if n.loop, err = newLoop(n, dir); err != nil {
		n.die()
		return nil, errors.Join(fmt.Errorf("%s: %w", cfg.Dir, err), dir.log.Close())
	}
	if dir.stored.Forgotten && cfg.Controller {
		cfg.Log.Warn("quorum-state was lost, now or before, and with it whom this controller voted for; until it has come to a later epoch it votes for no other controller", "dir", cfg.Dir)
	}
	n.wg.Go(n.writer.run)
	n.wg.Go(func() { n.loop.run(ctx) })
	n.wg.Go(n.tellIfVoterless)
	return n, nil
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

func (n *Node) ended() bool {
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

// Resign gives up leading an epoch; it does nothing when the node does not
// lead it.
func (n *Node) Resign(epoch kafka.Epoch) { _ = n.put(event{raft.Resign{Epoch: epoch}}) }

// event is an item that is an event of the core as it is.
type event struct{ ev raft.Event }

func (e event) run(l *loop) { l.step(e.ev) }

// HandOver is the first half of a Stop: a leader takes no more proposals, resigns,
// and goes on answering its peers, who need it to elect another. It returns when
// another leads, or ctx ends; for who does not lead that is soon. What serves the
// requests of peers is best closed between HandOver and Stop.
func (n *Node) HandOver(ctx context.Context) {
	_ = n.put(event{raft.Shutdown{Until: kafka.Never}})
	select {
	case <-n.handed:
	case <-n.done:
	case <-ctx.Done():
	}
}

// Stop leaves the quorum in good order: a leader hands over and stays until
// another leads, or ctx ends. Then everything is synced and closed.
func (n *Node) Stop(ctx context.Context) error {
	n.askOnce.Do(func() {
		_ = n.put(event{raft.Shutdown{Until: kafka.Never}})
		close(n.stopAsk)
	})
	select {
	case <-n.done:
	case <-ctx.Done():
		_ = n.put(event{raft.Shutdown{Until: 0}}) // it has waited long enough
		<-n.done
	}
	n.endOnce.Do(n.end)
	return n.closed
}

// end stops what the loop has left running.
func (n *Node) end() {
	n.die()
	n.listeners.stop()
	n.writer.stop()
	n.wg.Wait()
	n.emptyInbox()
	n.loop.abandon()
	n.closed = n.log.Close()
}

// emptyInbox refuses what came when nobody looks any more.
func (n *Node) emptyInbox() {
	for {
		var it item
		select {
		case it = <-n.inbox:
		case it = <-n.outer:
		default:
			return
		}
		switch it := it.(type) {
		case *proposal:
			it.done(kafka.NoOffset, ErrStopped)
		case received:
			it.refuse(n)
		case *announcement:
			it.refuse(n)
			it.drop(n)
		case *describeQuorum:
			it.reply(refuseDescribe(it.req, kerr.BrokerNotAvailable, "the node is stopping"))
		}
	}
}
