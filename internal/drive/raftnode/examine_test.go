package raftnode

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/vfs"
)

// harms are all that can be wrong with the bytes of a snapshot.
func harms(whole []byte) map[string][]byte {
	first, last := firstBatch(whole), lastBatch(whole)
	changed := func(f func(b []byte)) []byte {
		b := slices.Clone(whole)
		f(b)
		return b
	}
	return map[string][]byte{
		"empty":                       nil,
		"half a batch":                whole[:30],
		"only the header":             first,
		"without footer":              whole[:len(whole)-len(last)],
		"cut in its last batch":       whole[:len(whole)-5],
		"without header":              whole[len(first):],
		"two footers":                 append(slices.Clone(whole), last...),
		"a flipped bit in its head":   changed(func(b []byte) { b[batch.HeaderSize+3] ^= 1 }),
		"a flipped bit in the middle": changed(func(b []byte) { b[len(b)/2] ^= 1 }),
		"a flipped bit at its end":    changed(func(b []byte) { b[len(b)-1] ^= 1 }),
		"another offset":              changed(func(b []byte) { batch.SetBaseOffset(b[len(first):], 77) }),
		"another epoch":               changed(func(b []byte) { batch.SetLeaderEpoch(b[len(first):], 1<<16) }),
		"another magic":               changed(func(b []byte) { b[len(first)+16] ^= 1 }),
		"another length":              changed(func(b []byte) { b[len(first)+11] ^= 1 }),
		"zeros":                       make([]byte, len(whole)),
	}
}

// twoSnapshots is a disk whose log begins at 0, with a snapshot at 4, one at 8 and
// records behind it.
func twoSnapshots(t *testing.T) (mem *vfs.Mem, cfg Config, latest string) {
	t.Helper()
	mem = vfs.NewMem()
	cfg = lone(mem, metadataDir)
	n := start(t, cfg)
	e := listen(n)
	for i := range 10 {
		end := mustAppend(t, n, record(t, i))
		e.awaitEnd(t, end)
		if i == 3 || i == 7 {
			takeSnapshot(t, n, end, e.heard())
			latest = metadataDir + "/" + snapshotName(SnapshotID{EndOffset: end, Epoch: 1})
		}
	}
	stop(t, n)
	return mem, cfg, latest
}

func bytesOf(t testing.TB, fsys vfs.FS, name string) []byte {
	t.Helper()
	b, err := vfs.ReadFile(fsys, name, 1<<24)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Issue: "a corrupt snapshot falls back to the previous one": all records are
// still there, and the damaged file is out of sight, but not gone.
func TestADamagedSnapshotFallsBackToTheOneBefore(t *testing.T) {
	mem, _, latest := twoSnapshots(t)
	for what := range harms(bytesOf(t, mem, latest)) {
		mem, cfg, latest := twoSnapshots(t)
		harmed := harms(bytesOf(t, mem, latest))[what]
		write(t, mem, latest, harmed)
		n := start(t, cfg)
		e := listen(n)
		e.await(t, "all records", func(e *ear) bool { return len(e.records) == 10 })
		if got := e.heard(); !slices.IsSorted(got) {
			t.Errorf("%s: heard %v", what, got)
		}
		if len(e.loaded) != 1 || e.loaded[0].EndOffset >= 8 {
			t.Errorf("%s: loaded %v", what, e.loaded)
		}
		stop(t, n)
		aside := strings.TrimSuffix(latest, snapshotSuffix) + damagedSuffix
		if there, err := vfs.Exists(mem, latest); there || err != nil {
			t.Errorf("%s: the damaged snapshot is still one: %v", what, err)
		}
		if !slices.Equal(bytesOf(t, mem, aside), harmed) {
			t.Errorf("%s: it was not kept as it was", what)
		}
	}
}

// KAFKA-15312: an empty snapshot that is ahead of the log destroys nothing. The
// same for any other damage, and for one that contradicts the log's epoch.
func TestADamagedSnapshotIsNotWhatTheLogIsCutFor(t *testing.T) {
	f := func(what string, id SnapshotID, b []byte) {
		t.Helper()
		mem, cfg, latest := twoSnapshots(t)
		kept := slices.DeleteFunc(names(t, mem, metadataDir), func(name string) bool {
			return !strings.HasSuffix(name, ".log") && !strings.HasSuffix(name, snapshotSuffix)
		})
		write(t, mem, metadataDir+"/"+snapshotName(id), b)
		n := start(t, cfg)
		e := listen(n)
		e.await(t, "all records", func(e *ear) bool { return len(e.records) == 10 })
		if v := n.View(); v.LogStart != 0 || v.LogEnd < 11 {
			t.Errorf("%s: the log is %d..%d", what, v.LogStart, v.LogEnd)
		}
		stop(t, n)
		now := names(t, mem, metadataDir)
		for _, name := range kept {
			if !slices.Contains(now, name) {
				t.Errorf("%s: %s is gone, the latest snapshot was %s", what, name, latest)
			}
		}
		// A second start sees nothing of it.
		n = start(t, cfg)
		stop(t, n)
	}
	mem, _, latest := twoSnapshots(t)
	whole := bytesOf(t, mem, latest)
	for what, b := range harms(whole) {
		f(what+", ahead of the log", SnapshotID{EndOffset: 9999, Epoch: 1}, b)
	}
	f("of another epoch than its name", SnapshotID{EndOffset: 9999, Epoch: 0}, whole)
	f("of another epoch than the log", SnapshotID{EndOffset: 6, Epoch: 0}, nil)
}

// startsAt8 is twoSnapshots after everything below the latest snapshot was cleaned.
func startsAt8(t *testing.T) (*vfs.Mem, Config, string) {
	t.Helper()
	mem, cfg, latest := twoSnapshots(t)
	id, ok := parseSnapshotName(strings.TrimPrefix(latest, metadataDir+"/"))
	if !ok {
		t.Fatal(latest)
	}
	l, err := openStorage(LogOptions{FS: mem, Dir: metadataDir, SegmentBytes: 400, SegmentAge: defaultSegmentAge, MaxEpoch: 1, Promised: true})
	if err == nil {
		err = l.StartAt(id.EndOffset)
	}
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return mem, cfg, latest
}

// Where nothing else holds what came before the log, a controller has lost what it
// may have promised. It says which file, why, and what can be done, changes
// nothing, and says so again.
func TestAControllerThatLostItsOnlySnapshotDoesNotStart(t *testing.T) {
	mem, _, latest := startsAt8(t)
	for what := range harms(bytesOf(t, mem, latest)) {
		mem, cfg, latest := startsAt8(t)
		write(t, mem, latest, harms(bytesOf(t, mem, latest))[what])
		for range 2 {
			before := contentsOf(t, mem)
			_, err := Start(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), latest) || !strings.Contains(err.Error(), "add-controller") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%s: got %v", what, err)
			}
			if after := contentsOf(t, mem); !maps.Equal(before, after) {
				t.Errorf("%s: the start changed files:\n%v\n%v", what, before, after)
			}
		}
	}
}

// contentsOf are the snapshots and segments of the metadata directory.
func contentsOf(t testing.TB, fsys vfs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range names(t, fsys, metadataDir) {
		if strings.HasSuffix(name, ".log") || strings.Contains(name, snapshotSuffix) {
			all[name] = string(bytesOf(t, fsys, metadataDir+"/"+name))
		}
	}
	return all
}

// A node that never votes has promised nothing: it begins again from what it has.
func TestAnObserverThatLostItsOnlySnapshotFetchesAgain(t *testing.T) {
	mem, _, latest := startsAt8(t)
	for what := range harms(bytesOf(t, mem, latest)) {
		mem, cfg, latest := startsAt8(t)
		write(t, mem, latest, harms(bytesOf(t, mem, latest))[what])
		cfg.Controller, cfg.Self.Node, cfg.Endpoints = false, 9, nil
		o, err := openDir(cfg.withDefaults())
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		st := o.stored
		if before := (SnapshotID{EndOffset: 5, Epoch: 1}); len(st.Snapshots) == 0 && (st.LogStart != 0 || st.LogEnd != 0) ||
			len(st.Snapshots) > 0 && (st.Snapshots[0].ID != before && st.Snapshots[0].ID != SnapshotID{EndOffset: 4, Epoch: 1} || st.LogStart != st.Snapshots[0].ID.EndOffset || st.LogEnd != st.LogStart) {
			t.Errorf("%s: %+v", what, st)
		}
		if err := o.log.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A disk that cannot be read says nothing of what it holds: nothing is set aside.
func TestASnapshotThatCannotBeReadIsNotTakenForDamaged(t *testing.T) {
	mem, cfg, latest := twoSnapshots(t)
	disk := vfs.NewFault(mem)
	disk.Inject(vfs.Rule{Ops: vfs.OpRead, Path: snapshotSuffix, Err: vfs.ErrIO})
	cfg.FS = disk
	if _, err := Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), latest) {
		t.Errorf("got %v", err)
	}
	if there, _ := vfs.Exists(mem, latest); !there {
		t.Error("the snapshot is gone")
	}
}

// The checkpoint of format time holds what the first leader writes. It is needed
// until that is in the log.
func TestADamagedCheckpointOfFormatTime(t *testing.T) {
	formatted, err := os.ReadFile("testdata/format/static.checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	first := metadataDir + "/" + snapshotName(SnapshotID{})
	f := func(what string, records, starts bool, b []byte) {
		t.Helper()
		mem := vfs.NewMem()
		cfg := lone(mem, metadataDir)
		cfg.Formatted = true
		if err := mem.MkdirAll(metadataDir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, mem, first, formatted)
		if records {
			n := start(t, cfg)
			listen(n).awaitEnd(t, mustAppend(t, n, record(t, 1)))
			stop(t, n)
		}
		write(t, mem, first, b)
		n, err := Start(t.Context(), cfg)
		if err == nil {
			stop(t, n)
		}
		if (err == nil) != starts || !starts && !strings.Contains(fmt.Sprint(err), first) {
			t.Errorf("%s, records %v: %v", what, records, err)
		}
	}
	for what, b := range harms(formatted) {
		f(what, false, false, b)
		f(what, true, true, b)
	}
}

// All that Kafka writes is whole by these rules.
func TestKafkasSnapshotsAreWhole(t *testing.T) {
	for _, dir := range []string{"testdata/static-quorum", "testdata/standalone-dynamic-quorum"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, e := range entries {
			id, ok := parseSnapshotName(e.Name())
			if !ok {
				continue
			}
			seen++
			if r, damage, err := verifySnapshot(vfs.OS{}, dir+"/"+e.Name(), id); r == nil || damage != nil || err != nil {
				t.Errorf("%s/%s: %v %v", dir, e.Name(), damage, err)
			}
		}
		if seen < 2 {
			t.Errorf("%s: only %d snapshots", dir, seen)
		}
	}
}

// BenchmarkVerifySnapshot reads a snapshot of 100 MB, as each start does.
func BenchmarkVerifySnapshot(b *testing.B) {
	dir := b.TempDir()
	w, err := newSnapshotFile(vfs.OS{}, dir, SnapshotID{EndOffset: 9, Epoch: 1}, 1, 1, 0, nil)
	if err != nil {
		b.Fatal(err)
	}
	one := make([][]byte, 100)
	for i := range one {
		one[i] = make([]byte, 200)
	}
	for w.Size() < 100<<20 {
		if err := w.Append(one); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.finish(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(w.Size())
	for b.Loop() {
		if r, damage, err := verifySnapshot(vfs.OS{}, dir+"/"+snapshotName(w.id), w.id); r == nil || damage != nil || err != nil {
			b.Fatal(damage, err)
		}
	}
}
