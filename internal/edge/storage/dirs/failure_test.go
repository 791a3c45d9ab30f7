package dirs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

func (n *node) noted(dir string) bool {
	n.t.Helper()
	there, err := vfs.Exists(n.disk, filepath.Join(dir, storage.BootFile))
	must(n.t, err)
	return there
}

// Who hears of a failed write may act on it at once, and the process may be
// killed then: the next start must not trust what was not synced.
func TestTheBootNoteGoesBeforeAFailureIsTold(t *testing.T) {
	n := formatted(t)
	n.start()
	a := n.create("a", 0, ids[1])
	n.append(a, "1")
	if !n.noted("/d2") {
		t.Fatal("no note after a start")
	}
	n.fault.Inject(vfs.Rule{Ops: vfs.OpSync, Path: "/d2", Err: vfs.ErrIO})
	if _, err := a.Sync(); err == nil {
		t.Fatal("the sync did not fail")
	}
	if n.noted("/d2") || !n.noted("/d3") {
		t.Error("a note should be gone in d2 alone")
	}
	n.Fail("/d3", vfs.ErrIO)
	if n.noted("/d3") || n.Online(ids[2]) {
		t.Error("d3 failed somebody else and is still trusted")
	}
}

func TestTheBootNoteIsThereFromAStartToAStopInOrder(t *testing.T) {
	n := formatted(t)
	n.start()
	n.append(n.create("a", 0, ids[1]), "1")
	n.Close(true, 1, n)
	if n.noted("/d2") {
		t.Error("the note outlives a stop in order")
	}
	n.start()
	if !n.noted("/d2") {
		t.Error("no note after a start from a stop in order")
	}
	n.wants("a-0@d2:1/1")
}

// An Apache Kafka that ran in between leaves gaps which are no losses.
func TestGapsOfAnotherProgramAreKept(t *testing.T) {
	n := formatted(t)
	n.start()
	a := n.create("a", 0, ids[1])
	for _, v := range []string{"1", "2", "3"} {
		n.append(a, v)
		n.append(a, v)
		must(t, a.Roll())
	}
	n.Close(true, 1, n)
	// It starts, compacts and is killed before it writes a checkpoint.
	must(t, n.disk.Remove(markerPath("/d2")))
	must(t, vfs.WriteFileAtomic(n.disk, filepath.Join("/d2", RecoveryPointFile), nil))
	f, err := n.disk.OpenFile("/d2/a-0/"+storage.FileName(2, ".log"), os.O_RDWR, 0)
	must(t, err)
	size, err := f.Size()
	must(t, err)
	must(t, f.Truncate(size/2))
	must(t, f.Sync())
	must(t, n.disk.SyncDir("/d2"))
	n.crash()
	n.wants("a-0@d2:6/6")
}

func TestTheMetadataLogsDirectoryMustLoad(t *testing.T) {
	n := formatted(t)
	must(t, n.claim())
	n.fault.Inject(vfs.Rule{Ops: vfs.OpRead, Path: "/d1/" + RecoveryPointFile, Err: vfs.ErrIO})
	if err := n.load(); err == nil || !strings.Contains(err.Error(), "metadata") || !strings.Contains(err.Error(), "/d1") {
		t.Errorf("error %v does not tell of the metadata log in d1", err)
	}
}

// replacing is an owner that deletes a log and makes one of the same name while
// it is asked for a high watermark.
type replacing struct {
	*node
	log *storage.Log
}

func (o replacing) HighWatermark(tp kafka.TopicPartition) (kafka.Offset, bool) {
	if tp == o.log.TP() && o.marks[tp] > 0 {
		must(o.t, o.Delete(o.log))
		o.create(tp.Topic, tp.Partition, ids[1])
	}
	return 3, true
}

func TestACheckpointUnderWayTellsNothingOfADeletedLogsSuccessor(t *testing.T) {
	n := formatted(t)
	n.start()
	a := n.create("a", 0, ids[1])
	n.append(a, "1", "2", "3")
	(&upkeep{Dirs: n.Dirs, owner: replacing{n, a}}).highWatermarks()
	must(t, n.byID(ids[1]).cleaned(a, 2)) // a compaction that ends only now
	for _, file := range []string{HighWatermarkFile, CleanerFile} {
		o, err := storage.ReadOffsets(n.disk, "/d2/"+file)
		must(t, err)
		if o[a.TP()] != 0 {
			t.Errorf("%s tells %d of a new log", file, o[a.TP()])
		}
	}
}

func TestTooManyOpenFilesAreNoFailureOfADirectory(t *testing.T) {
	n := formatted(t)
	n.start()
	a := n.create("a", 0, ids[1])
	n.append(a, "1")
	must(t, a.CloseIdle())
	n.fault.Inject(vfs.Rule{Ops: vfs.OpOpen | vfs.OpCreate | vfs.OpSyncDir, Err: vfs.ErrTooManyFiles})
	builder := batch.NewBuilder(batch.Options{})
	builder.Add(1, nil, nil)
	if _, err := a.AppendLeader(builder.Build(nil), 1); err == nil {
		t.Error("an append without a file went well")
	}
	if _, _, err := n.Create(tp("b", 0), topicID, ids[1], testConfig()); err == nil {
		t.Error("a log was made without a file")
	}
	u := n.upkeep()
	n.marks[a.TP()] = 1
	for _, do := range []func(){u.highWatermarks, u.recoveryPoints, u.logStarts, u.tick, u.retainAll} {
		do()
	}
	n.fault.Heal()
	if n.AnyOffline() {
		t.Fatal("a directory went offline")
	}
	n.append(a, "2")
	n.create("b", 0, ids[1])
	if _, err := a.Sync(); err != nil {
		t.Error(err)
	}
}
