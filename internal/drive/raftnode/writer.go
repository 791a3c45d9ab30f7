package raftnode

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// writer changes the log in a goroutine of its own. One sync is under way at a
// time; it takes with it all that arrived while the one before ran (B7). The
// queue is as long as what the core has in flight: proposals are bounded by
// maxUnsynced, a follower has one fetch at a time.
type writer struct {
	n    *Node
	mu   sync.Mutex
	jobs []job
	wake chan struct{} // room for one
	quit chan struct{}
	part *part // snapshot being downloaded
	// joined is where appends of one round become one write.
	joined []byte
}

type jobKind int

const (
	jobAppend jobKind = iota
	jobTruncate
	jobChunk
	jobClean
	jobSetAside
)

// job is one change of the metadata directory.
type job struct {
	seq     raft.Seq
	kind    jobKind
	offset  kafka.Offset // truncate, clean
	bytes   []byte
	counted bool // bytes count against maxUnsynced
	chunk   raft.Chunk
	drop    []raft.SnapshotID // clean, set aside
}

func newWriter(n *Node) *writer {
	return &writer{n: n, wake: make(chan struct{}, 1), quit: make(chan struct{})}
}

func (w *writer) put(j job) {
	w.mu.Lock()
	w.jobs = append(w.jobs, j)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *writer) take() []job {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.jobs
	w.jobs = nil
	return all
}

func (w *writer) stop() { close(w.quit) }

func (w *writer) run() {
	defer w.dropPart()
	for {
		select {
		case <-w.wake:
			if err := w.round(w.take()); err != nil {
				_ = w.n.put(failed{err})
				return
			}
		case <-w.quit:
			_ = w.round(w.take()) // best effort: nobody waits for it any more
			return
		}
	}
}

// round writes jobs in order and syncs once.
func (w *writer) round(jobs []job) error {
	var last raft.Seq
	var bytes int64
	dirty := false
	for _, j := range jobs {
		if j.kind == jobAppend || j.kind == jobTruncate {
			dirty, last = true, j.seq
		}
		if j.counted {
			bytes += int64(len(j.bytes))
		}
	}
	if err := w.doAll(jobs); err != nil {
		return err
	}
	if !dirty {
		return nil
	}
	if !w.n.cfg.Controller {
		// A node that will never vote promises nothing.
		return w.n.put(event{raft.Synced{Seq: last, End: w.n.log.End()}})
	}
	if err := w.n.put(event{raft.Written{Seq: last, End: w.n.log.End()}}); err != nil {
		return w.sync() // stopping
	}
	if err := w.sync(); err != nil {
		return err
	}
	w.n.unsynced.Add(-bytes)
	_ = w.n.put(synced{raft.Synced{Seq: last, End: w.n.log.End()}})
	return nil
}

func (w *writer) sync() error {
	w.n.loop.stats.syncs.Add(1)
	_, err := w.n.log.Sync()
	if err != nil {
		return fmt.Errorf("syncing the metadata log: %w", err)
	}
	return nil
}

// maxJoined bounds the bytes of several appends that become one write.
const maxJoined = 256 << 10

// doAll does jobs in order, and appends that follow each other at once: a storm
// of small batches costs a system call a round and not one each.
func (w *writer) doAll(jobs []job) error {
	for len(jobs) > 0 {
		if n := joinable(jobs); n > 1 {
			w.joined = w.joined[:0]
			for _, j := range jobs[:n] {
				w.joined = append(w.joined, j.bytes...)
			}
			if err := w.append(w.joined); err != nil {
				return err
			}
			jobs = jobs[n:]
			continue
		}
		if err := w.do(jobs[0]); err != nil {
			return err
		}
		jobs = jobs[1:]
	}
	return nil
}

// joinable is how many of the first jobs are appends that fit into one write.
func joinable(jobs []job) (n int) {
	size := 0
	for _, j := range jobs {
		if size += len(j.bytes); j.kind != jobAppend || size > maxJoined {
			break
		}
		n++
	}
	return n
}

func (w *writer) append(batches []byte) error {
	if err := w.n.log.Append(batches); err != nil {
		return fmt.Errorf("appending to the metadata log: %w", err)
	}
	return nil
}

func (w *writer) do(j job) error {
	switch j.kind {
	case jobAppend:
		return w.append(j.bytes)
	case jobTruncate:
		if err := w.n.log.TruncateTo(j.offset); err != nil {
			return fmt.Errorf("truncating the metadata log to %d: %w", j.offset, err)
		}
	case jobChunk:
		return w.download(j)
	case jobClean:
		return w.clean(j)
	case jobSetAside:
		for _, id := range j.drop {
			if err := setAside(w.n.cfg, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// synced is the report of a sync; sends that waited for it follow the step.
type synced struct{ ev raft.Synced }

func (s synced) run(l *loop) {
	l.step(s.ev)
	l.release(s.ev.Seq)
}

// failed is the report that the disk failed.
type failed struct{ err error }

func (f failed) run(l *loop) {
	l.step(raft.Failed{})
	l.pending = nil
	l.fatal(f.err)
}

// part is a snapshot being downloaded.
type part struct {
	id   raft.SnapshotID
	name string
	file vfs.File
}

// download writes a chunk, and with the last one puts the snapshot in the place
// of the log.
func (w *writer) download(j job) error {
	id := j.chunk.ID
	if j.chunk.Position == 0 {
		w.dropPart()
		name := filepath.Join(w.n.cfg.Dir, snapshotStem(id)+"-download"+partSuffix)
		file, err := w.n.cfg.FS.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
		if err != nil {
			return fmt.Errorf("creating snapshot: %w", err)
		}
		w.part = &part{id: id, name: name, file: file}
	}
	if w.part == nil || w.part.id != id {
		return nil // of a download that was given up
	}
	if _, err := w.part.file.WriteAt(j.bytes, j.chunk.Position); err != nil {
		return fmt.Errorf("writing snapshot %s: %w", snapshotName(id), err)
	}
	if !j.chunk.Last {
		return nil
	}
	return w.install(j.chunk, j.chunk.Position+int64(len(j.bytes)))
}

func (w *writer) install(c raft.Chunk, size int64) error {
	n, p := w.n, w.part
	// A snapshot that cannot be read must not take the place of the log.
	reader, damage, err := verifySnapshot(n.cfg.FS, p.name, p.id)
	if err != nil {
		return err
	}
	if damage != nil {
		w.dropPart()
		n.wire.log.warn(p.id, "a snapshot arrived damaged, and is fetched again after a while", "snapshot", snapshotName(p.id), "leader", n.View().Leader, "err", damage)
		return n.put(event{raft.Spoiled{Seq: c.Seq}})
	}
	if err := publishSnapshot(n.cfg.FS, p.file, p.name, n.cfg.Dir, p.id); err != nil {
		return err
	}
	if err := n.log.StartAt(p.id.EndOffset); err != nil {
		return fmt.Errorf("beginning the log at snapshot %s: %w", snapshotName(p.id), err)
	}
	if err := w.sync(); err != nil {
		return err
	}
	w.part = nil
	_ = p.file.Close()
	voters, levels := reader.histories()
	if n.cfg.muted {
		voters = nil
	}
	return n.put(event{raft.Installed{Seq: c.Seq, Snapshot: raft.Snapshot{ID: p.id, Size: size}, Voters: voters, Levels: levels}})
}

func (w *writer) dropPart() {
	if w.part == nil {
		return
	}
	_ = w.part.file.Close()
	_ = w.n.cfg.FS.Remove(w.part.name)
	w.part = nil
}
