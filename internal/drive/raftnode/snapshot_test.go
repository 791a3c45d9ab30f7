package raftnode

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

func TestSnapshotNames(t *testing.T) {
	f := func(name string, end kafka.Offset, epoch kafka.Epoch, ok bool) {
		t.Helper()
		id, got := parseSnapshotName(name)
		if got != ok || ok && (id.EndOffset != end || id.Epoch != epoch || snapshotName(id) != name) {
			t.Errorf("%s: %v %v", name, id, got)
		}
	}
	f("00000000000000000183-0000000001.checkpoint", 183, 1, true)
	f("00000000000000000000-0000000000.checkpoint", 0, 0, true)
	f("00000000000000000183-0000000001.checkpoint.part", 0, 0, false)
	f("00000000000000000183-0000000001.checkpoint.deleted", 0, 0, false)
	f("00000000000000000183-1.checkpoint", 0, 0, false)
	f("99999999999999999999-0000000001.checkpoint", 0, 0, false)
	f("00000000000000000183-9999999999.checkpoint", 0, 0, false)
	f("bootstrap.checkpoint", 0, 0, false)
}

// What Kafka wrote, written again by us, is the same but for how the records
// are cut into batches: header and footer are equal byte for byte.
func TestASnapshotHasKafkasShape(t *testing.T) {
	f := func(folder string, id SnapshotID) {
		t.Helper()
		name := "testdata/" + folder + "/" + snapshotName(id)
		r, err := openSnapshot(vfs.OS{}, name, id)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		mem := vfs.NewMem()
		if err := vfs.MkdirAllSync(mem, "/d", 0o755); err != nil {
			t.Fatal(err)
		}
		first, _ := batch.ParseHeader(theirs)
		w, err := newSnapshotFile(mem, "/d", id, r.LastContainedTimestamp(), first.MaxTimestamp, r.head.level, r.head.voters)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for records, err := range r.Batches() {
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range records {
				want = append(want, string(one))
			}
			if err := w.Append(records); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.finish(); err != nil {
			t.Fatal(err)
		}
		ours, err := vfs.ReadFile(mem, "/d/"+snapshotName(id), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) < 5 || !slices.Equal(want, contents(t, mem, "/d/"+snapshotName(id), id)) {
			t.Errorf("%s: %d records, and ours differ", name, len(want))
		}
		for _, part := range []func([]byte) []byte{firstBatch, lastBatch} {
			if !bytes.Equal(withoutTime(part(theirs)), withoutTime(part(ours))) {
				t.Errorf("%s: control batch\n%x, Kafka's is\n%x", name, part(ours), part(theirs))
			}
		}
	}
	f("standalone-dynamic-quorum", SnapshotID{EndOffset: 183, Epoch: 1})
	f("standalone-dynamic-quorum", SnapshotID{EndOffset: 61, Epoch: 1})
	f("static-quorum", SnapshotID{EndOffset: 172, Epoch: 1})
}

func contents(t *testing.T, fsys vfs.FS, name string, id SnapshotID) (all []string) {
	t.Helper()
	r, err := openSnapshot(fsys, name, id)
	if err != nil {
		t.Fatal(err)
	}
	for records, err := range r.Batches() {
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range records {
			all = append(all, string(one))
		}
	}
	return all
}

func firstBatch(b []byte) []byte {
	for _, one := range batch.All(b) {
		return slices.Clone(one)
	}
	return nil
}

func lastBatch(b []byte) (last []byte) {
	for _, one := range batch.All(b) {
		last = slices.Clone(one)
	}
	return last
}

// withoutTime clears the time of a batch, and the checksum that covers it.
func withoutTime(b []byte) []byte {
	clear(b[17:21])
	clear(b[27:43])
	return b
}

// "createSnapshot requires: offset >= log start, offset <= HW, (offset, epoch)
// VALID. Existing id: skipped."
func TestASnapshotStandsForCommittedRecords(t *testing.T) {
	n := start(t, lone(vfs.NewMem(), "/d/__cluster_metadata-0"))
	defer stop(t, n)
	e := listen(n)
	end := mustAppend(t, n, record(t, 1))
	e.awaitEnd(t, end)
	f := func(end kafka.Offset, epoch kafka.Epoch, ok bool) {
		t.Helper()
		w, err := n.CreateSnapshot(SnapshotID{EndOffset: end, Epoch: epoch}, 1)
		if (err == nil) != ok {
			t.Errorf("%d-%d: %v", end, epoch, err)
		}
		if w != nil {
			w.Close()
		}
	}
	f(end, 1, true)
	f(end+1, 1, false)
	f(end, 2, false)
	takeSnapshot(t, n, end, e.heard())
	if w, err := n.CreateSnapshot(SnapshotID{EndOffset: end, Epoch: 1}, 1); w != nil || err != nil {
		t.Errorf("a second one: %v %v", w, err)
	}
	for _, name := range names(t, n.cfg.FS, n.cfg.Dir) {
		if strings.HasSuffix(name, ".part") {
			t.Errorf("%s was left behind", name)
		}
	}
}

// A new listener gets the latest snapshot and what follows; what was half done
// is removed at the start.
func TestAListenerStartsFromTheLatestSnapshot(t *testing.T) {
	mem := vfs.NewMem()
	cfg := lone(mem, "/d/__cluster_metadata-0")
	n := start(t, cfg)
	e := listen(n)
	var end kafka.Offset
	for i := range 5 {
		end = mustAppend(t, n, record(t, i))
	}
	e.awaitEnd(t, end)
	takeSnapshot(t, n, end, e.heard())
	last := mustAppend(t, n, record(t, 5))
	late := listen(n)
	late.awaitEnd(t, last)
	if got := late.heard(); len(got) != 6 || len(late.loaded) != 1 {
		t.Errorf("heard %d records, loaded %v", len(got), late.loaded)
	}
	stop(t, n)
	for _, name := range []string{"00000000000000000099-0000000001-17.checkpoint.part", "00000000000000000001-0000000001.checkpoint.deleted"} {
		write(t, mem, cfg.Dir+"/"+name, []byte("x"))
	}
	n = start(t, cfg)
	defer stop(t, n)
	e = listen(n)
	e.awaitEnd(t, last+1)
	if got := e.heard(); len(got) != 6 || len(e.loaded) != 1 {
		t.Errorf("after a restart: heard %d records, loaded %v", len(got), e.loaded)
	}
	for _, name := range names(t, mem, cfg.Dir) {
		if strings.HasSuffix(name, ".part") || strings.HasSuffix(name, ".deleted") {
			t.Errorf("%s was left behind", name)
		}
	}
}

// 7.4: oldest first; by size, then by age; the latest one stays.
func TestRetentionOfSnapshots(t *testing.T) {
	all := []raft.Snapshot{{ID: SnapshotID{EndOffset: 10}, Size: 100}, {ID: SnapshotID{EndOffset: 20}, Size: 100}, {ID: SnapshotID{EndOffset: 30}, Size: 100}}
	age := func(id SnapshotID) time.Duration { return time.Duration(40-id.EndOffset) * time.Hour }
	f := func(log, limit int64, old time.Duration, want int) {
		t.Helper()
		if got := oldestToDrop(all, log, Retention{Bytes: limit, Age: old}, age); got != want {
			t.Errorf("log %d, limits %d and %v: drops %d, want %d", log, limit, old, got, want)
		}
	}
	f(100, 1000, 100*time.Hour, 0)
	f(100, 399, 100*time.Hour, 1)
	f(100, 299, 100*time.Hour, 2)
	f(100, 0, 100*time.Hour, 2)
	f(100, -1, -1, 0)
	f(100, -1, 25*time.Hour, 1)
	f(100, -1, 1*time.Hour, 2)
	f(100, 399, 15*time.Hour, 2)
}

// Cleaning moves the start of the log to a snapshot; a listener that is behind
// loads it.
func TestCleaningKeepsTheLatestSnapshotAndWhatFollows(t *testing.T) {
	mem := vfs.NewMem()
	cfg := lone(mem, "/d/__cluster_metadata-0")
	cfg.Retention, cfg.SegmentBytes = Retention{Bytes: 1, Age: -1}, 300
	n := start(t, cfg)
	e := listen(n)
	for i := range 12 {
		end := mustAppend(t, n, record(t, i))
		e.awaitEnd(t, end)
		if i%4 == 3 {
			takeSnapshot(t, n, end, e.heard())
		}
	}
	tidy(n)
	v := n.View()
	if v.LogStart != v.LogEnd {
		t.Errorf("log %d..%d, the latest snapshot ends at %d", v.LogStart, v.LogEnd, v.LogEnd)
	}
	stop(t, n) // the files go after the core has forgotten them
	snapshots := 0
	for _, name := range names(t, mem, cfg.Dir) {
		if _, ok := parseSnapshotName(name); ok {
			snapshots++
		}
	}
	if snapshots != 1 {
		t.Errorf("files %v", names(t, mem, cfg.Dir))
	}
	n = start(t, cfg)
	defer stop(t, n)
	e = listen(n)
	e.awaitEnd(t, v.LogEnd+1)
	if got := e.heard(); len(got) != 12 {
		t.Errorf("after a restart: heard %d records", len(got))
	}
}

// "Opening fails if log start > 0 and no snapshot with offset >= log start
// exists" (KAFKA-14240).
func TestALogWithoutTheSnapshotItNeedsDoesNotOpen(t *testing.T) {
	mem := vfs.NewMem()
	cfg := lone(mem, "/d/__cluster_metadata-0")
	cfg.OpenLog = func(o LogOptions) (Log, error) {
		l, err := openStorage(o)
		if err == nil {
			err = l.StartAt(40)
		}
		return l, err
	}
	if _, err := Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "offset 40") {
		t.Errorf("got %v", err)
	}
}

// A snapshot that is damaged, or has no footer, says so.
func TestADamagedSnapshotIsNotBelieved(t *testing.T) {
	whole, err := os.ReadFile("testdata/static-quorum/00000000000000000172-0000000001.checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	f := func(what string, b []byte) {
		t.Helper()
		mem := vfs.NewMem()
		write(t, mem, "/s", b)
		r, err := openSnapshot(mem, "/s", SnapshotID{})
		if err == nil {
			for _, e := range r.Batches() {
				err = e
			}
		}
		if err == nil || !strings.Contains(err.Error(), "/s") {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("empty", nil)
	f("half a batch", whole[:30])
	f("without footer", whole[:len(whole)-len(lastBatch(whole))])
	f("cut in a batch", whole[:len(whole)-5])
	f("without header", whole[len(firstBatch(whole)):])
	f("two footers", append(slices.Clone(whole), lastBatch(whole)...))
	flipped := slices.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	f("a flipped bit", flipped)
}
