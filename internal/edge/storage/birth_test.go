package storage

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
)

// nursery is a disk with new logs on it, whose folders are made when work is called.
type nursery struct {
	*rig
	births *Births
	work   func() // nil until a log waits
	failed error
}

func newNursery(t *testing.T) *nursery {
	n := &nursery{rig: newRig(t)}
	n.births = NewBirths(func(work func()) { n.work = work })
	return n
}

func (n *nursery) options(partition kafka.PartitionID, topic byte) Options {
	o := n.opt
	o.TP, o.TopicID = kafka.TopicPartition{Topic: "t", Partition: partition}, kafka.TopicID{topic}
	o.Dir = folderOf(partition)
	o.Births, o.OnError = n.births, func(err error) { n.failed = err }
	return o
}

func folderOf(partition kafka.PartitionID) string {
	return filepath.Join(filepath.Dir(testDir), "new-"+string(rune('0'+partition)))
}

func (n *nursery) bear(partition kafka.PartitionID, topic byte) *Log {
	return New(n.options(partition, topic))
}

// holds tells which topic's id lies in a folder; zero for a folder that is not there.
func (n *nursery) holds(partition kafka.PartitionID) kafka.TopicID {
	n.t.Helper()
	id, err := ReadTopicID(n.disk, folderOf(partition))
	must(n.t, err)
	return id
}

func (n *nursery) wantFolders(when string, topics ...byte) {
	n.t.Helper()
	for i, topic := range topics {
		if got := n.holds(kafka.PartitionID(i)); got != (kafka.TopicID{topic}) {
			n.t.Errorf("%s: folder %d has topic %v, want %v", when, i, got, kafka.TopicID{topic})
		}
	}
}

// Rule: the folder of a new log is made when something is written to it, or when its
// turn has come.
func TestANewLogHasItsFolderWhenItIsNeededOrInTurn(t *testing.T) {
	n := newNursery(t)
	n.bear(0, 1)
	n.bear(1, 1)
	needed := n.bear(2, 2)
	n.bear(3, 1)
	n.wantFolders("at first", 0, 0, 0, 0)
	_, err := needed.AppendLeader(record("a"), 1)
	must(t, err)
	n.wantFolders("after an append", 0, 0, 2, 0)
	n.work()
	n.wantFolders("in turn", 1, 1, 2, 1)
	n.work = nil
	n.bear(4, 1)
	if n.work == nil {
		t.Error("nobody makes the folder of a log that came after the others were made")
	}
}

// Rule: all partitions of a topic have one partition.metadata under many names, if
// the disk can do so.
func TestPartitionsOfATopicShareTheFileOfItsID(t *testing.T) {
	n := newNursery(t)
	n.fault.Inject(vfs.Rule{Ops: vfs.OpWrite, Path: PartitionMetadataFile, Skip: 2, Err: vfs.ErrIO})
	for i := range kafka.PartitionID(6) {
		n.bear(i, byte(1+i%2))
	}
	n.work()
	n.wantFolders("with two files", 1, 2, 1, 2, 1, 2)
}

// linkless is a disk that knows each file by one name.
type linkless struct{ vfs.FS }

func (linkless) Link(string, string) error { return errors.ErrUnsupported }

func TestADiskWithoutLinksGetsAFileForEachPartition(t *testing.T) {
	n := newNursery(t)
	n.opt.FS = linkless{n.fault}
	n.bear(0, 1)
	n.bear(1, 1)
	n.work()
	n.wantFolders("without links", 1, 1)
}

// Rule: a crash at any step leaves a folder that opens, and keeps what was synced.
func TestACrashWhileALogIsBornNeedsNobody(t *testing.T) {
	for steps := 0; ; steps++ {
		n := newNursery(t)
		n.bear(0, 1)
		n.bear(1, 1)
		l := n.bear(2, 1)
		n.fault.StopAfter(steps)
		n.work()
		_, err := l.AppendLeader(record("a"), 1)
		if err == nil {
			_, err = l.Sync()
		}
		n.fault.Heal()
		for name, disk := range map[string]*vfs.Mem{"the process": n.disk, "power": n.disk.Crash(), "power, torn": n.disk.CrashTorn(uint64(steps))} {
			for i := range kafka.PartitionID(3) {
				o := n.options(i, 1)
				o.FS, o.Births, o.SameBoot = disk, nil, name == "the process"
				again, failed := Open(o)
				if failed != nil {
					t.Fatalf("loss of %s after %d steps: %v", name, steps, failed)
				}
				if i == 2 && err == nil && again.End() != 1 {
					t.Errorf("loss of %s after %d steps: the record is gone", name, steps)
				}
			}
		}
		if err == nil {
			if steps < 8 {
				t.Errorf("all went well with %d steps", steps)
			}
			return
		}
	}
}

func TestAFolderThatCannotBeMadeFailsItsLog(t *testing.T) {
	n := newNursery(t)
	n.fault.Inject(vfs.Rule{Ops: vfs.OpMkdir, Err: vfs.ErrNoSpace})
	l := n.bear(0, 1)
	n.work()
	if !errors.Is(n.failed, kerr.KafkaStorageError) || l.Err() == nil {
		t.Errorf("told %v, the log says %v", n.failed, l.Err())
	}
}

// Too many open files are no failure of the disk: the log gets its folder later.
func TestAFolderWaitsForOpenFiles(t *testing.T) {
	n := newNursery(t)
	n.fault.Inject(vfs.Rule{Ops: vfs.OpCreate, Err: vfs.ErrTooManyFiles})
	l := n.bear(0, 1)
	n.work()
	if n.failed != nil || l.Err() != nil {
		t.Fatalf("told %v, the log says %v", n.failed, l.Err())
	}
	n.fault.Heal()
	_, err := l.AppendLeader(record("a"), 1)
	must(t, err)
	n.wantFolders("with files to open", 1)
}

func TestALogThatIsDeletedBeforeItsBirthLeavesNothing(t *testing.T) {
	n := newNursery(t)
	l := n.bear(0, 1)
	must(t, l.BecomeLeader(3))
	must(t, l.Rename(folderOf(7)))
	must(t, l.Close(false))
	n.work()
	n.wantFolders("after the deletion", 0, 0, 0, 0, 0, 0, 0, 0)
}

func TestACleanStopLeavesAFolderOfEveryLog(t *testing.T) {
	n := newNursery(t)
	l := n.bear(0, 1)
	must(t, l.BecomeLeader(3))
	n.births.Close()
	n.work()
	n.wantFolders("with the births closed", 0)
	must(t, l.Close(true))
	n.wantFolders("after the stop", 1)
}

func TestANewLogTakesAnEmptyFolderAndNoOther(t *testing.T) {
	n := newNursery(t)
	must(t, n.disk.Mkdir(folderOf(0), 0o755))
	must(t, n.disk.Mkdir(folderOf(1), 0o755))
	must(t, vfs.WriteFileAtomic(n.disk, filepath.Join(folderOf(1), "something"), nil))
	n.bear(0, 1)
	other := n.bear(1, 1)
	n.work()
	n.wantFolders("where folders were", 1, 0)
	if other.Err() == nil {
		t.Error("a folder with files in it was taken for a new log's")
	}
}

// What is done to a log before its first record does not ask for a folder, or makes it.
func TestALogBeforeItsBirthIsALog(t *testing.T) {
	n := newNursery(t)
	l := n.bear(0, 1)
	_, err := l.Sync()
	must(t, err)
	must(t, l.Tick())
	must(t, l.CloseIdle())
	must(t, l.Roll())
	must(t, l.TruncateTo(0))
	_, err = l.DeleteOld(0)
	must(t, err)
	n.wantFolders("nothing was written", 0)
	must(t, l.TruncateFullyAndStartAt(5))
	n.wantFolders("the log begins at 5", 1)
	b := records("a", 1, 1000, batch.Options{BaseOffset: 5})
	_, err = l.AppendFollower(b, 1)
	must(t, err)
	_, err = l.Sync()
	must(t, err)
	o := n.options(0, 1)
	o.FS, o.Births = n.disk.Crash(), nil
	again, err := Open(o)
	must(t, err)
	if again.Start() != 5 || again.End() != 6 {
		t.Errorf("after a crash the log is [%d, %d)", again.Start(), again.End())
	}
}
