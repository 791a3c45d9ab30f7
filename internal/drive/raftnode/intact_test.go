package raftnode

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

const metadataDir = "/d/__cluster_metadata-0"

// segments are the files of a log, in order.
func segments(t testing.TB, fsys vfs.FS) (all []string) {
	t.Helper()
	for _, name := range names(t, fsys, metadataDir) {
		if strings.HasSuffix(name, ".log") {
			all = append(all, metadataDir+"/"+name)
		}
	}
	return all
}

// damaged changes a file by what f makes of its bytes.
func damaged(t testing.TB, fsys vfs.FS, name string, f func([]byte) []byte) {
	t.Helper()
	b, err := vfs.ReadFile(fsys, name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	write(t, fsys, name, f(b))
}

// flip turns a bit of the records of a file's first batch, or of its length.
func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte {
		b = slices.Clone(b)
		b[at] ^= 0x10
		return b
	}
}

func half(b []byte) []byte { return append(slices.Clone(b), lastBatch(b)[:70]...) }

func withoutLast(b []byte) []byte { return b[:len(b)-len(lastBatch(b))] }

func cutLast(b []byte) []byte { return b[:len(b)-5] }

// written is a disk with a log of several segments; stopped in good order, or
// as it was when its process was killed.
func written(t testing.TB, orderly bool) (vfs.FS, Config) {
	t.Helper()
	mem := vfs.NewMem()
	cfg := lone(mem, metadataDir)
	cfg.SegmentBytes = 400
	n := start(t, cfg)
	e := listen(n)
	for i := range 12 {
		e.awaitEnd(t, mustAppend(t, n, record(t, i)))
	}
	stop(t, n)
	if !orderly {
		note, err := readDurable(mem, metadataDir)
		if err == nil {
			err = note.set(3)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if all := segments(t, mem); len(all) < 3 {
		t.Fatalf("only %v", all)
	}
	return mem, cfg
}

// A record that was synced long ago and is bad now was not torn by a crash. A
// voter that cut its log there would lead on without what was committed.
func TestDamageBelowWhatWasDurableStopsTheStart(t *testing.T) {
	f := func(what string, orderly, noted bool, segment int, change func([]byte) []byte, starts bool) {
		t.Helper()
		mem, cfg := written(t, orderly)
		all := segments(t, mem)
		if segment < 0 {
			segment += len(all)
		}
		if !noted {
			if err := mem.Remove(metadataDir + "/" + durableFile); err != nil {
				t.Fatal(err)
			}
		}
		damaged(t, mem, all[segment], change)
		n, err := Start(t.Context(), cfg)
		if err == nil {
			leave(t, n)
		}
		switch {
		case starts && err != nil:
			t.Errorf("%s: %v", what, err)
		case !starts && err == nil:
			t.Errorf("%s: the node started", what)
		case !starts && (!strings.Contains(err.Error(), all[segment]) || !strings.Contains(err.Error(), "offset ")):
			t.Errorf("%s: the error does not name file and offset: %v", what, err)
		case !starts && !slices.Equal(segments(t, mem), all):
			t.Errorf("%s: segments are gone: %v", what, segments(t, mem))
		}
	}
	const records, length = batch.HeaderSize + 5, 10
	f("a flipped bit of an old record", true, true, 0, flip(records), false)
	f("an old batch of another length", true, true, 0, flip(length), false)
	f("a flipped bit in the last segment", true, true, -1, flip(records), false)
	f("a last segment that lost its end", true, true, -1, cutLast, false)
	f("a flipped bit in an old segment, no note", false, false, 0, flip(records), false)
	f("an old segment that lost its end, no note", false, false, 1, cutLast, false)
	f("an old segment without its last batch, no note", false, false, 1, withoutLast, false)
	f("a segment without its last batch above what is noted", false, true, 1, withoutLast, true)
	f("a torn tail behind what is noted", true, true, -1, half, true)
	f("a torn tail after a kill", false, true, -1, cutLast, true)
	f("a torn tail without a note", false, false, -1, cutLast, true)
	f("a flipped bit above what is noted", false, true, -1, flip(records), true)
}

// A log that ends before what was durable has lost a file.
func TestALogThatLostItsLastSegmentDoesNotStart(t *testing.T) {
	mem, cfg := written(t, true)
	all := segments(t, mem)
	if err := mem.Remove(all[len(all)-1]); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "ends at offset") {
		t.Errorf("got %v", err)
	}
}

// The note never says more than what a loss of power leaves: it goes before
// records below it go.
func TestTheNoteOfWhatIsDurableGoesBeforeTheRecords(t *testing.T) {
	noted := func(fsys vfs.FS) kafka.Offset {
		t.Helper()
		n, err := readDurable(fsys, metadataDir)
		if err != nil {
			t.Fatal(err)
		}
		return n.below
	}
	f := func(what string, change func(Log) error, want kafka.Offset) {
		t.Helper()
		mem, _ := written(t, true)
		disk := vfs.NewFault(mem)
		l, err := openStorage(LogOptions{FS: disk, Dir: metadataDir, SegmentBytes: 400, SegmentAge: defaultSegmentAge, MaxEpoch: math.MaxInt32, Promised: true})
		if err != nil {
			t.Fatal(err)
		}
		disk.Inject(vfs.Rule{Ops: vfs.OpTruncate | vfs.OpRemove | vfs.OpRename, Path: ".log", Err: vfs.ErrIO})
		if err := change(l); err == nil {
			t.Errorf("%s: no error although the segments stay", what)
		}
		if got := noted(mem); got != want {
			t.Errorf("%s: %d is noted before the records go, want %d", what, got, want)
		}
		_ = l.Close()
	}
	f("a cut", func(l Log) error { return l.TruncateTo(2) }, 0)
	f("another start", func(l Log) error { return l.StartAt(100) }, 0)
}

// After a failed sync nobody knows which bytes the disk has, so a start in the
// same boot looks at all of them.
func TestAFailedSyncTakesTheNoteOfTheBootBack(t *testing.T) {
	mem, _ := written(t, true)
	disk := vfs.NewFault(mem)
	l, err := openStorage(LogOptions{FS: disk, Dir: metadataDir, SegmentBytes: 400, SegmentAge: defaultSegmentAge, MaxEpoch: math.MaxInt32, Promised: true})
	if err != nil {
		t.Fatal(err)
	}
	if note, err := storage.ReadBoot(mem, metadataDir); err != nil || !note.Same {
		t.Fatalf("%+v, %v", note, err)
	}
	last, err := vfs.ReadFile(mem, segments(t, mem)[0], 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	again := firstBatch(last)
	batch.SetBaseOffset(again, l.End())
	batch.SetLeaderEpoch(again, 9)
	if err := l.Append(again); err != nil {
		t.Fatal(err)
	}
	disk.Inject(vfs.Rule{Ops: vfs.OpSync, Path: ".log", Err: vfs.ErrIO})
	if _, err := l.Sync(); err == nil {
		t.Fatal("the sync went well")
	}
	if note, err := storage.ReadBoot(mem, metadataDir); err != nil || note.Same {
		t.Errorf("%+v, %v", note, err)
	}
	_ = l.Close()
}
