package sim

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// writer changes a node's log in the order that the core asked for. One sync is
// under way at a time; it takes along all that arrived while the one before
// ran, as the writer of raftnode does.
type writer struct {
	jobs []job
	// round are the jobs of the round under way, the first done of them done: what
	// is left of them comes before what waits. A write that failed stays there.
	round []job
	done  int
	busy  bool
	part  raft.SnapshotID // being downloaded
}

// undone calls f with each change of the log that is still to be written.
func (w *writer) undone(f func(o *op)) {
	for _, jobs := range [...][]job{w.round[w.done:], w.jobs} {
		for i := range jobs {
			for k := range jobs[i].ops {
				f(&jobs[i].ops[k])
			}
		}
	}
}

// job is one change of the directory.
type job struct {
	seq   raft.Seq
	ops   []op
	chunk *raft.Chunk
	size  int64 // of the snapshot, with its last chunk
	clean *raft.SnapshotID
}

const writeTime = 50 * time.Microsecond

func (n *node) put(j job) {
	n.writer.jobs = append(n.writer.jobs, j)
	if !n.writer.busy {
		n.writer.busy = true
		n.after(n.writeTime(), n.round)
	}
}

// writeTime is how long the next round takes to write. To put a snapshot in the
// place of the log takes syncs of its own.
func (n *node) writeTime() time.Duration {
	d := writeTime
	for _, j := range n.writer.jobs {
		if j.chunk != nil && j.chunk.Last {
			d += n.w.syncTime(n)
		}
	}
	return d
}

// round writes all that waits, and syncs once.
func (n *node) round() {
	k := &n.writer
	clear(k.round)
	k.round, k.jobs, k.done = k.jobs, k.round[:0], 0
	if n.crashesAt(WriteLog, before, 1) {
		return
	}
	var last raft.Seq
	for k.done < len(k.round) {
		j := &k.round[k.done]
		for len(j.ops) > 0 {
			if kind, fails := n.writeFails(); fails {
				n.fails(kind, j.seq)
				return
			}
			n.disk.write(j.ops[0])
			last, j.ops = j.seq, j.ops[1:]
			if n.crashesAt(WriteLog, during, 1) {
				return
			}
		}
		k.done++
		if !n.other(*j) {
			return
		}
	}
	end := n.disk.log.end(n.disk.start)
	switch {
	case last == 0:
		n.idle()
	case !n.cfg.Controller: // promises nothing, so it does not sync
		n.idle()
		n.step(raft.Synced{Seq: last, End: end})
	case n.crashesAt(WriteLog, after, 1), n.crashesAt(SyncLog, before, 1):
	default:
		n.after(n.w.syncTime(n), func() { n.synced(last, end, len(n.disk.ops)) })
		n.step(raft.Written{Seq: last, End: end})
	}
}

// other does what is no change of the log; false when the node crashed.
func (n *node) other(j job) bool {
	switch {
	case j.clean != nil:
		return n.clean(*j.clean)
	case j.chunk != nil && j.chunk.Position == 0:
		n.writer.part = j.chunk.ID
	}
	if j.chunk != nil && j.chunk.Last && n.writer.part == j.chunk.ID {
		return n.install(*j.chunk, j.size)
	}
	return true
}

// idle begins the next round, if there is something to do.
func (n *node) idle() {
	n.writer.busy = len(n.writer.jobs) > 0
	if n.writer.busy {
		n.after(n.writeTime(), n.round)
	}
}

// synced ends a sync that began when the log had count changes to make durable.
func (n *node) synced(seq raft.Seq, end kafka.Offset, count int) {
	if n.crashesAt(SyncLog, during, 1) {
		return
	}
	if n.w.chance(n.w.plan.FailedSync, 10000, FailedSync) {
		n.fails(FailedSync, seq)
		return
	}
	n.disk.sync(min(count, len(n.disk.ops)))
	if n.crashesAt(SyncLog, after, 1) {
		return
	}
	n.idle()
	n.step(raft.Synced{Seq: seq, End: end})
	n.release(seq)
}

// install puts a downloaded snapshot in the place of the log; false when the
// node crashed on the way.
func (n *node) install(c raft.Chunk, size int64) bool {
	place := func() { n.disk.snapshots = append(n.disk.snapshots, raft.Snapshot{ID: c.ID, Size: size}) }
	if n.crashesAt(PlaceSnapshot, before, 50) || n.crashesDuring(PlaceSnapshot, 50, place) {
		return false
	}
	place()
	if n.crashesAt(PlaceSnapshot, after, 50) || n.crashesAt(CutLog, before, 50) {
		return false
	}
	cut := func() {
		n.disk.startAt(c.ID.EndOffset)
		n.disk.reconcile()
	}
	if n.crashesDuring(CutLog, 50, cut) {
		return false
	}
	cut()
	n.w.check.starts(n)
	if n.crashesAt(CutLog, after, 50) {
		return false
	}
	voters, levels := n.w.shapes[c.ID].at(c.ID.EndOffset - 1)
	n.step(raft.Installed{Seq: c.Seq, Snapshot: raft.Snapshot{ID: c.ID, Size: size}, Voters: voters, Levels: levels})
	return n.up
}

// clean moves the start of the log to a snapshot; false when the node crashed on
// the way.
func (n *node) clean(id raft.SnapshotID) bool {
	if id.EndOffset <= n.disk.start || id.EndOffset > n.disk.durable.end(n.disk.start) {
		return true
	}
	drop := func() { n.disk.dropBelow(id.EndOffset) }
	if n.crashesAt(CleanLog, before, 50) || n.crashesDuring(CleanLog, 50, drop) {
		return false
	}
	if drop(); n.crashesAt(CleanLog, after, 50) {
		return false
	}
	n.w.check.startsAtSnapshot(n)
	n.step(raft.Cleaned{Start: id.EndOffset})
	return n.up
}

// writeFails draws whether a write fails, and how. A disk that can only be read
// stays so until the process starts again.
func (n *node) writeFails() (Fault, bool) {
	if n.disk.readOnly {
		return ReadOnly, true
	}
	for _, kind := range []Fault{FailedWrite, NoSpace, ReadOnly} {
		if n.w.chance(n.w.plan.FailedSync, 10000, kind) {
			n.disk.readOnly = kind == ReadOnly
			return kind, true
		}
	}
	return 0, false
}

// fails tells the core that a write, or its sync, has failed. What the disk holds
// of it is not known.
func (n *node) fails(kind Fault, seq raft.Seq) {
	n.w.note("%d cannot make write %d durable: %v", n.id, seq, kind)
	n.pending = nil
	n.step(raft.Failed{Seq: seq})
	n.broken = true
}
