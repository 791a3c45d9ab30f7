package sim

import (
	"math/rand/v2"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// node is a core with its disk, its writer and its connections: what raftnode
// is in production.
type node struct {
	w      *World
	id     kafka.NodeID
	cfg    raft.Config
	core   *raft.Core
	disk   disk
	writer writer

	old    bool // knows Vote up to version 1 only (KIP-996)
	up     bool
	broken bool // a sync failed: it only refuses
	life   int  // counts starts
	since  kafka.Instant
	speed  int64 // of its clock, in thousandths
	// until is when a pause, or a write of the election state, is over.
	until kafka.Instant

	deadline, armed kafka.Instant
	pending         []raft.Pending
	asked           map[raft.Call]inbound // requests of peers that wait for an answer
	lastAsked       raft.Call
	conns           map[kafka.NodeID]*conn
	role            raft.Role  // as it was told last
	state           raft.State // after the last step
	watch           watch
	waiting         int          // proposals here without an answer
	committed       kafka.Offset // when they were looked at last
}

// inbound is a request of a peer, or of a client: then it came on no connection.
type inbound struct {
	conn *conn
	call raft.Call // the asker's
	body raft.Body
}

// local is the node's own time, which begins when its process does.
func (n *node) local() kafka.Instant { return (n.w.now - n.since) * kafka.Instant(n.speed) / 1000 }

// global is when the node's clock shows an instant.
func (n *node) global(at kafka.Instant) kafka.Instant {
	if at == kafka.Never {
		return at
	}
	return n.since + (at*1000+kafka.Instant(n.speed)-1)/kafka.Instant(n.speed)
}

// after lets something happen to this life of the node.
func (n *node) after(d time.Duration, run func()) {
	n.w.queue.put(happening{at: n.w.now.Add(d), who: n, life: n.life, run: run})
}

// boot starts the process from what the disk holds.
func (n *node) boot() {
	w := n.w
	n.life++
	n.up, n.broken, n.since, n.until, n.armed = true, false, w.now, 0, kafka.Never
	n.pending, n.asked, n.lastAsked, n.conns = nil, map[raft.Call]inbound{}, 0, map[kafka.NodeID]*conn{}
	n.writer, n.role, n.committed = writer{}, "", kafka.NoOffset
	n.cfg.Rand = rand.New(rand.NewPCG(w.rng.Uint64(), uint64(n.id)))
	stored := n.disk.stored(w.shapes)
	w.note("%d starts: %v log=%d..%d", n.id, elected(stored.Election), stored.LogStart, stored.LogEnd)
	core, effects, err := raft.New(n.local(), n.cfg, stored)
	if err != nil {
		w.fail("V5", "node %d cannot start: %v", n.id, err)
		return
	}
	n.core, n.state = core, core.State()
	w.check.booted(n)
	n.carryOut(effects, nil)
	if n.up {
		w.check.step(n)
	}
}

// crash stops the process. A part of what was not synced may stay.
func (n *node) crash(where string) {
	if !n.up {
		return
	}
	kept := 0
	if len(n.disk.ops) > 0 {
		kept = n.w.rng.IntN(len(n.disk.ops) + 1)
	}
	n.w.note("%d crashes %s: %d of %d unsynced writes stay", n.id, where, kept, len(n.disk.ops))
	n.disk.crash(kept)
	n.up, n.life = false, n.life+1
	n.w.dropConns(n)
	n.w.scheduleReturn(n)
}

// step gives the core an event and carries out what follows.
func (n *node) step(ev raft.Event) { n.stepWith(ev, nil) }

// stepWith is step for an answer that brought batches.
func (n *node) stepWith(ev raft.Event, brought batches) {
	if !n.up || n.w.failure != nil {
		return
	}
	n.watch.before(n, ev)
	effects := n.core.Step(n.local(), ev)
	n.state = n.core.State()
	n.watch.after(n, ev, effects)
	n.carryOut(effects, brought)
	if n.up {
		n.w.check.step(n)
	}
}
