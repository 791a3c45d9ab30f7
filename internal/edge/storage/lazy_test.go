package storage

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// files are the names in the folder of a log.
func (r *rig) files() string {
	r.t.Helper()
	entries, err := r.disk.ReadDir(testDir)
	must(r.t, err)
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimPrefix(e.Name(), "00000000000000000000"))
	}
	return strings.Join(names, " ")
}

// Rule: the files of a log are made when something is written to them, and all of
// them are there after a clean stop, as Apache Kafka wants them.
func TestFilesAreMadeWhenTheyAreNeeded(t *testing.T) {
	r := newRig(t, func(o *Options) { o.TopicID = kafka.TopicID{1} })
	f := func(when, want string) {
		t.Helper()
		if got := r.files(); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	f("a new log", PartitionMetadataFile)
	must(t, r.BecomeLeader(3))
	f("an epoch without records", PartitionMetadataFile)
	_, err := r.AppendLeader(record("a"), 3)
	must(t, err)
	f("one record", ".log partition.metadata")
	r.reopen(false)
	f("after a crash", ".log partition.metadata")
	if r.End() != 1 || r.LastEpoch() != 3 {
		t.Errorf("end %d, epoch %d", r.End(), r.LastEpoch())
	}
	_, err = r.AppendLeader(record("b"), 3)
	must(t, err)
	must(t, r.Close(true))
	f("after a clean stop", ".index .log .timeindex 00000000000000000002.snapshot leader-epoch-checkpoint partition.metadata")
}

func record(value string) []byte {
	w := batch.NewBuilder(batch.Options{})
	w.Add(time.Now().UnixMilli(), nil, []byte(value))
	return w.Build(nil)
}

// Rule: what was synced is there after a loss of power, also when the folder was
// synced before the log's file was made.
func TestAFileMadeAfterItsFolderWasSyncedLasts(t *testing.T) {
	r := newRig(t, func(o *Options) { o.TopicID = kafka.TopicID{1} })
	_, err := r.Sync() // of nothing
	must(t, err)
	_, err = r.AppendLeader(record("a"), 0)
	must(t, err)
	_, err = r.Sync()
	must(t, err)
	after := r.disk.Crash()
	if there, err := vfs.Exists(after, filepath.Join(testDir, FileName(0, logSuffix))); !there || err != nil {
		t.Errorf("the log's file is lost, %v", err)
	}
}

// Rule: the epoch file may be behind only as long as a recovery learns what it
// lacks. With the index entries that would hide the beginning of an epoch it is
// there, and so it is after a tick.
func TestEpochsOutlastACrash(t *testing.T) {
	for _, ticks := range []bool{false, true} {
		r := newRig(t)
		for epoch := range kafka.Epoch(3) {
			for range 2 * pendingEntries {
				w := batch.NewBuilder(batch.Options{})
				w.Add(1000, nil, make([]byte, 5000)) // an index entry each
				if _, err := r.AppendLeader(w.Build(nil), epoch); err != nil {
					t.Fatal(err)
				}
			}
			if ticks {
				must(t, r.Tick())
			}
		}
		want := r.Epochs()
		r.reopen(false)
		if got := r.Epochs(); !slices.Equal(got, want) || len(got) != 3 {
			t.Errorf("epochs %v after a crash, %v before", got, want)
		}
	}
}
