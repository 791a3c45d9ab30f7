package raftnode

import (
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// A snapshot takes the place of the whole log (kraft.md 2.6). Stopped between
// the two steps, a node is left with a log beside it that a leader which was cut
// off had written for nobody:
//
//  1. Node 1 leads epoch 1, is cut off, and appends up to offset 7.
//  2. Others commit 3 records up to epoch 5, and clean their logs.
//  3. Node 1 comes back, downloads snapshot 3-5, and is killed before its log is
//     cut. That log must not count as the continuation of the snapshot.
func TestALogThatASnapshotContradictsGoes(t *testing.T) {
	f := func(id SnapshotID, start, end kafka.Offset) {
		t.Helper()
		mem := vfs.NewMem()
		cfg := lone(mem, "/d/__cluster_metadata-0")
		write1To7(t, cfg)
		if err := saveElection(mem, cfg.Dir, raft.Election{Epoch: 5, Leader: kafka.NoNode, Voted: raft.NoVote}, 0, nil); err != nil {
			t.Fatal(err)
		}
		w, err := newSnapshotFile(mem, cfg.Dir, id, 1, 1, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.finish(); err != nil {
			t.Fatal(err)
		}
		o, err := openDir(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := o.log.Close(); err != nil {
				t.Error(err)
			}
		}()
		if o.stored.LogStart != start || o.stored.LogEnd != end {
			t.Errorf("beside snapshot %d-%d the log is %d..%d, want %d..%d", id.EndOffset, id.Epoch, o.stored.LogStart, o.stored.LogEnd, start, end)
		}
	}
	f(SnapshotID{EndOffset: 3, Epoch: 5}, 3, 3)
	f(SnapshotID{EndOffset: 3, Epoch: 1}, 0, 7) // our own, of what we have committed
	f(SnapshotID{EndOffset: 9, Epoch: 1}, 9, 9)
}

// write1To7 leaves a log of epoch 1 that ends at 7.
func write1To7(t *testing.T, cfg Config) {
	t.Helper()
	n := start(t, cfg)
	e := listen(n)
	for n.View().LogEnd < 7 {
		e.awaitEnd(t, mustAppend(t, n, record(t, 0)))
	}
	stop(t, n)
}
