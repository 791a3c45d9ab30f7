package raftnode

import (
	"fmt"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// cleanEvery is how often old snapshots and segments are looked at.
const cleanEvery = 60 * time.Second

// cleaning deletes what retention does not keep.
type cleaning struct {
	next    kafka.Instant
	running bool
}

// turn begins a round when one is due.
func (c *cleaning) turn(l *loop) {
	n := l.n
	if n.clock.now() < c.next || c.running {
		return
	}
	c.next = n.clock.now().Add(cleanEvery)
	c.running = true
	j := job{kind: jobClean}
	snapshots := l.core.Snapshots()
	if drop := oldestToDrop(snapshots, n.log.Size(), n.cfg.Retention, func(id raft.SnapshotID) time.Duration { return n.folder.age(id, n.clock.ms()) }); drop > 0 {
		j.offset = snapshots[drop].ID.EndOffset
		for _, s := range snapshots[:drop] {
			j.drop = append(j.drop, s.ID)
		}
	}
	n.writer.put(j)
}

// oldestToDrop counts the snapshots, oldest first, that may go with the records
// below the next one: while log and snapshots together are larger than allowed,
// then while the oldest is older than allowed. The latest one always stays.
// Both limits are soft.
func oldestToDrop(all []raft.Snapshot, logSize int64, r Retention, age func(raft.SnapshotID) time.Duration) int {
	total := logSize
	for _, s := range all {
		total += s.Size
	}
	drop := 0
	for drop+1 < len(all) {
		tooMuch := r.Bytes >= 0 && total > r.Bytes
		tooOld := r.Age >= 0 && age(all[drop].ID) > r.Age
		if !tooMuch && !tooOld {
			break
		}
		total -= all[drop].Size
		drop++
	}
	return drop
}

// age is how long ago the last record that a snapshot stands for was appended;
// 0 when it cannot be read.
func (f folder) age(id raft.SnapshotID, nowMs int64) time.Duration {
	r, err := f.open(id)
	if err != nil {
		return 0
	}
	return time.Duration(nowMs-r.LastContainedTimestamp()) * time.Millisecond
}

// clean lets the log tidy up, and moves its start to a snapshot's end when there
// is something to drop.
func (w *writer) clean(j job) error {
	if err := w.n.log.Tick(); err != nil {
		return fmt.Errorf("tidying the metadata log: %w", err)
	}
	if len(j.drop) > 0 {
		if err := w.n.log.DropBelow(j.offset); err != nil {
			return fmt.Errorf("moving the start of the metadata log to %d: %w", j.offset, err)
		}
	}
	// The core forgets the snapshots before their files go: what it offers to
	// others is there.
	_ = w.n.put(cleaned{j.offset})
	for _, id := range j.drop {
		if err := removeSnapshot(w.n.cfg.FS, w.n.cfg.Dir, id); err != nil {
			return err
		}
	}
	return nil
}

type cleaned struct{ start kafka.Offset }

func (c cleaned) run(l *loop) {
	l.clean.running = false
	l.step(raft.Cleaned{Start: c.start})
}
