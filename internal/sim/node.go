package sim

import (
	"math/rand/v2"
	"time"

	"github.com/ottla/ottla/internal/abstract"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/drive/quorumtrace"
)

// node is a core with its disk, its writer and its connections: what raftnode
// is in production.
type node struct {
	clock
	w      *World
	id     kafka.NodeID
	cfg    raft.Config
	core   *raft.Core
	disk   disk
	writer writer

	old    bool // knows Vote up to version 1 only (KIP-996)
	up     bool
	broken bool // a write or a sync failed: it only refuses
	life   int  // counts starts
	// until is when a pause, or a write of the election state, is over.
	until kafka.Instant
	slow  kafka.Instant // until then everything takes its time

	armed     kafka.Instant
	pending   []raft.Pending
	asked     map[raft.Call]inbound // requests of peers that wait for an answer
	lastAsked raft.Call
	conns     map[kafka.NodeID]*conn
	role      raft.Role  // as it was told last
	state     raft.State // after the last step
	watch     watch
	model     quorumtrace.Observer
	follows   abstract.Tracker
	contact   contact
	waiting   int          // proposals here without an answer
	committed kafka.Offset // when they were looked at last
}

// inbound is a request of a peer, or of a client: then it came on no connection.
type inbound struct {
	conn *conn
	call raft.Call // the asker's
	body raft.Body
}

// after lets something happen to this life of the node.
func (n *node) after(d time.Duration, run func()) {
	n.w.queue.put(happening{at: n.w.now.Add(d), who: n, life: n.life, run: run})
}

// boot starts the process from what the disk holds.
func (n *node) boot() {
	w := n.w
	n.life++
	n.up, n.broken, n.until, n.slow, n.armed = true, false, 0, 0, kafka.Never
	n.clock.start(w)
	n.pending, n.asked, n.lastAsked, n.conns = nil, map[raft.Call]inbound{}, 0, map[kafka.NodeID]*conn{}
	n.writer, n.role, n.committed, n.disk.readOnly = writer{}, "", kafka.NoOffset, false
	n.cfg.Rand = rand.New(rand.NewPCG(w.rng.Uint64(), uint64(n.id)))
	n.cfg.Unix = w.date(n)
	if w.chance(1, 3, OtherVersion) {
		n.old = !n.old
		w.note("%d comes back as another version: old=%v", n.id, n.old)
	}
	stored := n.disk.stored(w.shapes)
	w.note("%d starts: %v log=%d..%d", n.id, elected(stored.Election), stored.LogStart, stored.LogEnd)
	core, effects, err := raft.New(n.local(), n.cfg, stored)
	if err != nil {
		w.fail(Startup, "node %d cannot start: %v", n.id, err)
		return
	}
	n.core, n.state = core, core.State()
	w.check.booted(n)
	if !w.plan.Alone {
		w.check.protocol(n, n.model.Started(n.cfg, stored, n.state, effects))
	}
	n.carryOut(&effects, nil)
	if n.up {
		w.check.step(n)
	}
}

// crash stops the process and tells what it left of writes that were not synced.
func (n *node) crash(where string) fate {
	if !n.up {
		return kept
	}
	f, keep := n.w.forget(len(n.disk.ops))
	n.w.note("%d crashes %s: %d of %d unsynced writes stay", n.id, where, keep, len(n.disk.ops))
	n.disk.crash(keep)
	n.up, n.life, n.writer = false, n.life+1, writer{}
	n.w.dropConns(n)
	n.w.scheduleReturn(n)
	return f
}

// step gives the core an event and carries out what follows.
func (n *node) step(ev raft.Event) { n.stepWith(ev, nil) }

// stepWith is step for an answer that brought batches.
func (n *node) stepWith(ev raft.Event, brought batches) {
	if !n.up || n.w.failure != nil {
		return
	}
	n.watch.before(n, ev)
	n.contact.before(n, ev)
	effects := n.core.Step(n.local(), ev)
	n.state = n.core.State()
	n.watch.after(n, ev, &effects)
	n.contact.after(n, &effects)
	if !n.w.plan.Alone {
		n.w.check.protocol(n, n.model.Stepped(ev, &n.state, &effects))
	}
	n.carryOut(&effects, brought)
	if n.up {
		n.w.check.step(n)
	}
}
