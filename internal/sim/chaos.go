package sim

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// troubles are the faults that come by themselves, from time to time; the
// others hit messages and writes on their way.
var troubles = []Fault{
	Clogged, Cut, CutOneWay, Unheard, Reset, Replayed, Crashed, CrashedAll, Paused, Slow, DiskLost, Reformatted, Jumped, AskedToEnd,
}

// bring lets trouble come upon a node; it is counted if there was any.
func (w *World) bring(kind Fault, n *node) { w.count(kind, w.brought(kind, n)) }

func (w *World) brought(kind Fault, n *node) bool {
	switch kind {
	case Clogged:
		w.clog(n, w.anyNode())
	case Cut, CutOneWay:
		w.cutOff(n, kind == Cut)
	case Unheard:
		return w.unhear(n, w.anyNode())
	case Reset:
		return w.reset()
	case Replayed:
		return w.replay()
	case Crashed:
		return n.up && w.kill(w.writing(n))
	case CrashedAll:
		w.crashAll()
	case Paused:
		w.pause(n)
	case Slow:
		n.slow = w.now.Add(w.upTo(5 * time.Second))
		w.note("-- %d is slow until %v", n.id, time.Duration(n.slow))
	case DiskLost:
		return w.loseDisk(n)
	case Reformatted:
		return w.reformat(n)
	case Jumped:
		return w.jumpOf(n)
	case AskedToEnd:
		w.askToEnd(n)
	}
	return true
}

func (w *World) kill(n *node) bool {
	n.crash("by kill")
	return true
}

// writing is a node that has a write under way, nine times of ten if there is
// one: a crash then is worth ten others.
func (w *World) writing(n *node) *node {
	if w.stage != nil || n.writer.busy || w.rng.IntN(10) == 0 {
		return n
	}
	for _, i := range w.rng.Perm(len(w.nodes)) {
		if m := w.nodes[i]; m.up && m.writer.busy {
			return m
		}
	}
	return n
}

// pause lets a process stand still, at most until it is healed.
func (w *World) pause(n *node) {
	until := w.now.Add(w.upTo(w.plan.Still))
	n.until = max(n.until, min(until, kafka.Instant(w.plan.Chaos)))
	w.note("-- %d is paused until %v", n.id, time.Duration(n.until))
}

func (w *World) clog(from, to *node) {
	w.link(from, to).clogged = w.now.Add(w.upTo(5 * time.Second))
	w.note("-- the link %d -> %d is clogged", from.id, to.id)
}

// unhear lets requests from one node to another pass, and their answers not.
func (w *World) unhear(asker, server *node) bool {
	w.link(server, asker).unheard = w.now.Add(w.upTo(5 * time.Second))
	w.note("-- %d does not hear what %d answers", asker.id, server.id)
	return false // each lost answer counts
}

// reset breaks a connection, if there is one in the middle of a message.
func (w *World) reset() bool {
	w.forgetClosed()
	var busy []*conn
	for _, c := range w.conns {
		if c.flying > 0 {
			busy = append(busy, c)
		}
	}
	if len(busy) == 0 {
		return false
	}
	c := busy[w.rng.IntN(len(busy))]
	w.note("-- the connection %d -> %d breaks", c.asker.id, c.server.id)
	w.close(c)
	return true
}

func (w *World) crashAll() {
	for _, n := range w.nodes {
		n.crash("with all others")
	}
}

// trouble lets something go wrong, and comes again.
func (w *World) trouble() {
	if !w.chaos {
		return
	}
	w.later(w.mean(w.plan.FaultEvery), w.trouble)
	kind := troubles[w.rng.IntN(len(troubles))]
	n := w.anyNode()
	if leader := w.leader(); leader != nil && w.rng.IntN(3) == 0 {
		n = leader // who leads is worth most
	}
	if w.plan.Active[kind] && (kind != CrashedAll || w.rng.IntN(4) == 0) {
		w.bring(kind, n)
	}
}

// strike lets trouble come upon a candidate or a leader while its epoch is young:
// most of what can go wrong in an election goes wrong then.
func (w *World) strike(n *node) {
	kind := Crashed
	if w.rng.IntN(2) == 0 {
		kind = troubles[w.rng.IntN(len(troubles))]
	}
	if !w.chaos || !w.plan.Active[kind] || w.rng.IntN(2) == 0 {
		return
	}
	w.later(w.upTo(400*time.Millisecond), func() {
		if w.chaos {
			w.bring(kind, n)
		}
	})
}

func (w *World) anyNode() *node { return w.nodes[w.rng.IntN(len(w.nodes))] }

func (w *World) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d))) }

// leader is one that believes to lead.
func (w *World) leader() *node {
	for _, n := range w.nodes {
		if n.up && n.role == raft.RoleLeader {
			return n
		}
	}
	return nil
}

// cutOff cuts links of a node for a while: with one peer or with all.
func (w *World) cutOff(n *node, bothWays bool) {
	until := w.now.Add(w.upTo(8 * time.Second))
	all, away := w.rng.IntN(2) == 0, w.rng.IntN(2) == 0
	peer := w.anyNode()
	w.note("-- %d is cut off until %v: all=%v both=%v away=%v peer=%d", n.id, time.Duration(until), all, bothWays, away, peer.id)
	for _, o := range w.nodes {
		if o == n || !all && o != peer {
			continue
		}
		if bothWays || away {
			w.cut(n, o, until)
		}
		if bothWays || !away {
			w.cut(o, n, until)
		}
	}
}

// cut stops what is sent from now on; what is under way arrives.
func (w *World) cut(from, to *node, until kafka.Instant) {
	l := w.link(from, to)
	l.cut, l.mended = true, until
	if until == kafka.Never {
		return
	}
	w.later(until.Sub(w.now), func() {
		if l.mended <= w.now {
			l.cut = false
		}
	})
}

// scheduleReturn lets a process that is gone come back.
func (w *World) scheduleReturn(n *node) {
	if w.stage != nil {
		return // the script says when
	}
	d := 20*time.Millisecond + w.upTo(pick(w.rng, 200*time.Millisecond, 5*time.Second))
	life := n.life
	w.later(d, func() {
		if !n.up && n.life == life && !n.stays() {
			n.boot()
		}
	})
}

// askToEnd asks a leader to resign, or a node to stop in good order.
func (w *World) askToEnd(n *node) {
	if !n.up || n.until > w.now {
		return
	}
	if w.rng.IntN(2) == 0 {
		w.note("-- %d is asked to resign", n.id)
		n.step(raft.Resign{Epoch: n.state.Election.Epoch})
		return
	}
	w.note("-- %d is asked to stop", n.id)
	n.step(raft.Shutdown{Until: n.local().Add(w.upTo(3 * time.Second))})
	n.after(4*time.Second, func() { n.crash("at the end of its stop") })
}

// tidy lets a node make a snapshot, and comes again.
func (w *World) tidy() {
	if w.chaos && w.plan.Active[Snapshots] {
		w.later(w.mean(w.plan.TidyEvery), w.tidy)
		w.snapshot(w.anyNode())
	}
}

// snapshot lets a node replace what it has committed by a snapshot, and clean
// its log up to there some time later.
func (w *World) snapshot(n *node) {
	if !n.up || n.broken || n.until > w.now {
		return
	}
	s := n.state
	end := s.HighWatermark
	if w.rng.IntN(8) == 0 {
		end = n.disk.durable.end(n.disk.start) // which the core has to refuse, if it is more
	}
	i := n.disk.durable.from(end) - 1
	if i < 0 || n.disk.durable[i].end != end {
		return
	}
	id := raft.SnapshotID{EndOffset: end, Epoch: n.disk.durable[i].epoch}
	if s.LatestSnapshot.EndOffset >= id.EndOffset || !n.core.CanSnapshot(id) {
		return
	}
	w.note("-- %d makes snapshot %d-%d", n.id, id.EndOffset, id.Epoch)
	w.faults[Snapshots]++
	w.check.snapshot(n, id)
	set, level := n.core.Shape(id.EndOffset)
	w.shapes[id] = shape{set, level}
	made := raft.Snapshot{ID: id, Size: snapshotSize}
	place := func() { n.disk.snapshots = append(n.disk.snapshots, made) }
	if n.crashesAt(MakeSnapshot, before, 10) || n.crashesDuring(MakeSnapshot, 10, place) {
		return
	}
	if place(); n.crashesAt(MakeSnapshot, after, 10) {
		return
	}
	n.step(raft.SnapshotCreated{Snapshot: made})
	if n.up && w.rng.IntN(2) == 0 {
		n.put(job{clean: &id})
	}
}
