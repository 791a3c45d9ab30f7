package raftnode

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// snapshotFile writes a snapshot: a control batch with the header and the shape
// of the quorum, data batches, a control batch with the footer. Offsets count
// from 0; the leader epoch is that of the snapshot.
type snapshotFile struct {
	fs     vfs.FS
	dir    string
	id     raft.SnapshotID
	part   string
	file   vfs.File
	next   kafka.Offset
	size   int64
	stamp  int64
	failed error
}

// newSnapshotFile begins a .part file. set is nil when no voter set is known.
func newSnapshotFile(fsys vfs.FS, dir string, id raft.SnapshotID, lastContained, nowMs int64, level int16, set raft.Voters) (*snapshotFile, error) {
	part := filepath.Join(dir, fmt.Sprintf("%s-%d%s", snapshotStem(id), rand.Uint64(), partSuffix))
	file, err := fsys.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("creating snapshot: %w", err)
	}
	w := &snapshotFile{fs: fsys, dir: dir, id: id, part: part, file: file, stamp: nowMs}
	b := w.builder(true)
	header := metarec.NewSnapshotHeaderRecord()
	header.LastContainedLogTimestamp = lastContained
	err = addControl(b, nowMs, batch.SnapshotHeader, header)
	if err == nil && level > 0 {
		err = addQuorumShape(b, nowMs, &level, set)
	}
	if err == nil {
		err = w.write(b)
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *snapshotFile) builder(control bool) *batch.Builder {
	return batch.NewBuilder(batch.Options{BaseOffset: w.next, LeaderEpoch: w.id.Epoch, Control: control})
}

func (w *snapshotFile) write(b *batch.Builder) error {
	if w.failed != nil {
		return w.failed
	}
	raw := b.Build(nil)
	if _, err := w.file.Write(raw); err != nil {
		w.failed = fmt.Errorf("writing snapshot %s: %w", snapshotName(w.id), err)
		return w.failed
	}
	w.next += kafka.Offset(b.Len())
	w.size += int64(len(raw))
	return nil
}

// Append writes one batch of framed metadata records.
func (w *snapshotFile) Append(framed [][]byte) error {
	if len(framed) == 0 {
		return nil
	}
	b := w.builder(false)
	for _, r := range framed {
		b.Add(w.stamp, nil, r)
	}
	if b.Size() > maxBatch {
		return ErrTooLarge
	}
	return w.write(b)
}

// Size is how many bytes were written.
func (w *snapshotFile) Size() int64 { return w.size }

// finish writes the footer, syncs, and gives the file its name: it is complete
// whenever it can be seen (KAFKA-15312).
func (w *snapshotFile) finish() error {
	b := w.builder(true)
	if err := addControl(b, w.stamp, batch.SnapshotFooter, metarec.NewSnapshotFooterRecord()); err != nil {
		return err
	}
	if err := w.write(b); err != nil {
		return err
	}
	return publishSnapshot(w.fs, w.file, w.part, w.dir, w.id)
}

// publishSnapshot syncs a complete .part file and renames it.
func publishSnapshot(fsys vfs.FS, file vfs.File, part, dir string, id raft.SnapshotID) error {
	err := file.Sync()
	if err == nil {
		err = fsys.Rename(part, filepath.Join(dir, snapshotName(id)))
	}
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("freezing snapshot %s: %w", snapshotName(id), err)
	}
	return nil
}

// Close drops what was not frozen.
func (w *snapshotFile) Close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	if gone := w.fs.Remove(w.part); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// SnapshotWriter takes the records of a snapshot of a node's log.
type SnapshotWriter struct {
	*snapshotFile
	node *Node
}

// Freeze makes the snapshot durable and tells the quorum of it.
func (w *SnapshotWriter) Freeze() error {
	if err := w.finish(); err != nil {
		return err
	}
	return w.node.put(created{raft.Snapshot{ID: w.id, Size: w.size}})
}

// CreateSnapshot begins a snapshot of everything below id.EndOffset, which must
// be committed and the end of a batch; lastContained is when the last of it was
// appended, ms since 1970. It gives nil without error when there is such a
// snapshot already, or a later one. The caller closes the writer in any case.
func (n *Node) CreateSnapshot(id SnapshotID, lastContained int64) (*SnapshotWriter, error) {
	ask := &shapeAt{id: id, reply: make(chan shape, 1)}
	if err := n.put(ask); err != nil {
		return nil, err
	}
	var s shape
	select {
	case s = <-ask.reply:
	case <-n.done:
		return nil, ErrStopped
	}
	switch {
	case s.exists:
		return nil, nil
	case !s.allowed:
		return nil, fmt.Errorf("snapshot %s does not stand for committed records of the log", snapshotName(id))
	}
	w, err := newSnapshotFile(n.cfg.FS, n.cfg.Dir, id, lastContained, n.clock.ms(), s.level, s.voters)
	if err != nil {
		return nil, err
	}
	return &SnapshotWriter{w, n}, nil
}

// shapeAt asks the loop what a snapshot has to say of the quorum.
type shapeAt struct {
	id    raft.SnapshotID
	reply chan shape
}

type shape struct {
	exists, allowed bool
	level           int16
	voters          raft.Voters
}

func (a *shapeAt) run(l *loop) {
	var s shape
	latest := l.core.State().LatestSnapshot
	s.exists = latest.EndOffset > 0 && latest.EndOffset >= a.id.EndOffset
	s.allowed = l.core.CanSnapshot(a.id)
	s.voters, s.level = l.core.Shape(a.id.EndOffset)
	a.reply <- s
}

// created tells the core of a snapshot of our own.
type created struct{ snapshot raft.Snapshot }

func (c created) run(l *loop) {
	l.n.lacks.Store(false)
	l.step(raft.SnapshotCreated{Snapshot: c.snapshot})
}
