package sim

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// disk is a metadata directory: what a process reads from it, and what is left
// of that when the machine stops.
type disk struct {
	election raft.Election // always durable
	noFile   bool          // there is no quorum-state
	marked   bool          // votes are lost

	start kafka.Offset
	log   batches // as written
	// durable is the log as the last sync left it, ops what was done to it
	// since: of these a crash keeps as many as it likes, in order.
	durable batches
	ops     []op

	snapshots []raft.Snapshot // durable, ascending

	readOnly bool // since a write found it so; until the next start
}

// op is a change of the log: a batch, or a cut.
type op struct {
	batch batch
	cut   bool
	end   kafka.Offset // of a cut
}

func (o op) do(l batches) batches {
	if o.cut {
		return l.below(o.end)
	}
	return append(l, o.batch)
}

func (d *disk) write(o op) {
	d.log = o.do(d.log)
	d.ops = append(d.ops, o)
}

// sync makes the first n changes durable.
func (d *disk) sync(n int) {
	for _, o := range d.ops[:n] {
		d.durable = o.do(d.durable)
	}
	d.ops = slices.Delete(d.ops, 0, n)
}

// crash keeps n of the changes that were not synced.
func (d *disk) crash(n int) {
	d.sync(n)
	d.log, d.ops = slices.Clone(d.durable), nil
}

// startAt makes the log empty and lets it begin at an offset, durably.
func (d *disk) startAt(start kafka.Offset) {
	d.start, d.log, d.durable, d.ops = start, nil, nil, nil
}

// dropBelow removes what a snapshot stands for, and older snapshots.
func (d *disk) dropBelow(start kafka.Offset) {
	d.start = start
	d.log = slices.Clone(d.log[d.log.from(start):])
	d.durable = slices.Clone(d.durable[d.durable.from(start):])
	d.ops = slices.DeleteFunc(d.ops, func(o op) bool { return !o.cut && o.batch.end <= start })
	d.snapshots = slices.DeleteFunc(d.snapshots, func(s raft.Snapshot) bool { return s.ID.EndOffset < start })
}

// reconcile makes log and snapshots fit each other after a crash between the
// two steps of an installation: a log that does not hold the last record that
// the snapshot stands for has to go.
func (d *disk) reconcile() {
	n := len(d.snapshots)
	if n == 0 || d.snapshots[n-1].ID == (raft.SnapshotID{}) {
		return
	}
	id := d.snapshots[n-1].ID
	if !d.holds(id) {
		d.startAt(id.EndOffset)
	}
	d.snapshots = slices.DeleteFunc(d.snapshots, func(s raft.Snapshot) bool { return s.ID.EndOffset < d.start })
}

func (d *disk) holds(id raft.SnapshotID) bool {
	if id.EndOffset <= d.start {
		return true
	}
	i := d.log.from(id.EndOffset - 1)
	return i < len(d.log) && d.log[i].epoch == id.Epoch
}

// stored reads the directory at a start of the process. shapes tell what the
// snapshots hold.
func (d *disk) stored(shapes map[raft.SnapshotID]shape) raft.Stored {
	d.reconcile()
	st := raft.Stored{
		Election: d.election, LogStart: d.start, LogEnd: d.log.end(d.start), Snapshots: slices.Clone(d.snapshots),
	}
	from := kafka.NoOffset
	if n := len(d.snapshots); n > 0 {
		id := d.snapshots[n-1].ID
		from = id.EndOffset - 1
		st.Voters, st.Levels = shapes[id].at(from)
	}
	span := d.log.span()
	st.Epochs = span.Epochs
	for _, v := range span.Voters {
		if v.Offset > from {
			st.Voters = append(st.Voters, v)
		}
	}
	for _, v := range span.Levels {
		if v.Offset > from {
			st.Levels = append(st.Levels, v)
		}
	}
	st.Forgotten = d.noFile && st.LogEnd > 0 || d.marked
	return st
}

// shape is the voter set and kraft.version that a snapshot holds.
type shape struct {
	voters raft.Voters
	level  int16
}

// at gives a shape as the histories of a log have it; both are empty when the
// snapshot holds none.
func (s shape) at(offset kafka.Offset) ([]raft.At[raft.Voters], []raft.At[int16]) {
	if s.voters == nil {
		return nil, nil
	}
	return []raft.At[raft.Voters]{{Offset: offset, Value: s.voters}}, []raft.At[int16]{{Offset: offset, Value: s.level}}
}
