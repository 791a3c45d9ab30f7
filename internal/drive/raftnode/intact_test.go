package raftnode

import (
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

const metadataDir = "/d/__cluster_metadata-0"

const markFile = metadataDir + "/" + metarec.DurableMarkFile

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

func flipLast(b []byte) []byte {
	b = slices.Clone(b)
	b[len(b)-2] ^= 0x10
	return b
}

func cutLast(b []byte) []byte { return b[:len(b)-5] }

// ending is how the process that wrote a log came to its end.
type ending string

const (
	stopped ending = "stopped in good order"
	killed  ending = "killed"
	// A loss of power leaves of the notes what had been written back.
	powerless ending = "off at a loss of power"
)

// lagging is what the notes say that lag behind.
const lagging = 3

// written is a disk with a log of several segments, all of it synced.
func written(t testing.TB, end ending) (vfs.FS, Config) {
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
	if end != stopped {
		lag(t, mem, lagging)
	}
	if end == powerless {
		remove(t, mem, markFile)
	}
	if all := segments(t, mem); len(all) < 3 {
		t.Fatalf("only %v", all)
	}
	return mem, cfg
}

// lag sets back what is saved of how far a log is durable.
func lag(t testing.TB, fsys vfs.FS, to kafka.Offset) {
	t.Helper()
	note, err := readDurable(fsys, metadataDir)
	if err == nil {
		err = note.save(to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, fsys vfs.FS, name string) {
	t.Helper()
	if err := fsys.Remove(name); err != nil {
		t.Fatal(err)
	}
}

// A record that was synced and is bad now was not torn by a crash. A voter that
// cut its log there would lead on without what was committed (verification.md V5:
// "damage before the last synced point (never cut silently ...)").
func TestDamageBelowWhatWasDurableStopsTheStart(t *testing.T) {
	f := func(what string, end ending, noted bool, segment int, change func([]byte) []byte, starts bool) {
		t.Helper()
		mem, cfg := written(t, end)
		all := segments(t, mem)
		if segment < 0 {
			segment += len(all)
		}
		if !noted {
			remove(t, mem, metadataDir+"/"+durableFile)
			if end != powerless {
				remove(t, mem, markFile)
			}
		}
		damaged(t, mem, all[segment], change)
		n, err := Start(t.Context(), cfg)
		if err == nil {
			leave(t, n)
		}
		switch {
		case starts && err != nil:
			t.Errorf("%s, %s: %v", what, end, err)
		case !starts && err == nil:
			t.Errorf("%s, %s: the node started", what, end)
		case !starts && (!strings.Contains(err.Error(), all[segment]) && segment < len(all)-1 || !strings.Contains(err.Error(), "offset ")):
			t.Errorf("%s, %s: the error does not name file and offset: %v", what, end, err)
		case !starts && !slices.Equal(segments(t, mem), all):
			t.Errorf("%s, %s: segments are gone: %v", what, end, segments(t, mem))
		}
	}
	const records, length = batch.HeaderSize + 5, 10
	for _, end := range []ending{stopped, killed} {
		f("a flipped bit of an old record", end, true, 0, flip(records), false)
		f("an old batch of another length", end, true, 0, flip(length), false)
		f("a flipped bit in the middle", end, true, 2, flip(records), false)
		f("a flipped bit in the last segment", end, true, -1, flip(records), false)
		f("a flipped bit in the last batch", end, true, -1, flipLast, false)
		f("a last segment that lost its end", end, true, -1, cutLast, false)
		f("a last segment without its last batch", end, true, -1, withoutLast, false)
		f("a segment without its last batch", end, true, 1, withoutLast, false)
		f("a torn tail behind what is noted", end, true, -1, half, true)
	}
	f("a flipped bit below what is saved", powerless, true, 0, flip(records), false)
	f("a segment without its last batch above what is noted", powerless, true, 1, withoutLast, true)
	f("a torn tail above what is noted", powerless, true, -1, cutLast, true)
	f("a hole above what is noted", powerless, true, -1, flip(records), true)
	f("a flipped bit in an old segment, no note", powerless, false, 0, flip(records), false)
	f("an old segment that lost its end, no note", powerless, false, 1, cutLast, false)
	f("an old segment without its last batch, no note", powerless, false, 1, withoutLast, false)
	f("a torn tail without a note", powerless, false, -1, cutLast, true)
}

// The mark that a loss of power has torn says nothing, and what is saved still
// counts. It is written anew once the log was read, whatever its length, and what it
// was good for is told.
func TestATornMarkSaysNothing(t *testing.T) {
	first, cfg := written(t, killed)
	b := bytesOf(t, first, markFile)
	was, err := metarec.ReadDurableMark(b)
	if err != nil || was.Below <= lagging || was.Epoch != 1 {
		t.Fatal(was, err)
	}
	f := func(what string, torn []byte, below kafka.Offset) {
		t.Helper()
		disk := first.(*vfs.Mem).Crash()
		write(t, disk, markFile, torn)
		note, err := readDurable(disk, metadataDir)
		if err != nil || note.below != below || note.found.epoch >= 0 {
			t.Errorf("%s: %d is noted, of epoch %d, %v", what, note.below, note.found.epoch, err)
		}
		var said strings.Builder
		marks := func() int { return strings.Count(said.String(), "the mark of how far") }
		l, err := openStorage(LogOptions{FS: disk, Dir: metadataDir, SegmentBytes: 400, SegmentAge: defaultSegmentAge, MaxEpoch: 1, Promised: true, Log: slog.New(slog.NewTextHandler(&said, nil))})
		if err != nil {
			t.Fatal(what, err)
		}
		defer l.Close()
		if below == lagging {
			now, err := metarec.ReadDurableMark(bytesOf(t, disk, markFile))
			if err != nil || now.Below != lagging || marks() != 1 || !strings.Contains(said.String(), metarec.DurableMarkFile) {
				t.Errorf("%s: the mark is %+v, %v, and it said %s", what, now, err, said.String())
			}
		} else if marks() > 0 {
			t.Errorf("%s: it said %s", what, said.String())
		}
	}
	for bit := range len(b) * 8 {
		other := slices.Clone(b)
		other[bit/8] ^= 1 << (bit % 8)
		if bit < 12*8 {
			f("a flipped bit", other, lagging)
		} else {
			f("a flipped bit of the epoch", other, kafka.Offset(was.Below))
		}
	}
	f("empty", nil, lagging)
	f("half", b[:7], lagging)
	f("zeros", make([]byte, len(b)), lagging)
	f("zeros for an old one", make([]byte, 12), lagging)
	f("longer", append(slices.Clone(b), 0), lagging)
	f("longer by far", append(slices.Clone(b), make([]byte, 1000)...), lagging)
	f("of an older release", b[:12], kafka.Offset(was.Below))

	write(t, first, markFile, append(slices.Clone(b), 0))
	stop(t, start(t, cfg))
	if note, err := readDurable(first, metadataDir); err != nil || note.below < kafka.Offset(was.Below) {
		t.Errorf("after another run %+v, %v", note, err)
	}
}

// What is acknowledged is noted before: the mark follows each sync, with no sync
// of its own.
func TestTheMarkFollowsEachSync(t *testing.T) {
	mem := vfs.NewMem()
	c := &counter{FS: mem, filesByNames: map[string]int{}}
	n := start(t, lone(c, metadataDir))
	defer stop(t, n)
	e := listen(n)
	for i := range 5 {
		end := mustAppend(t, n, record(t, i))
		e.awaitEnd(t, end)
		mark := markOf(mem, metadataDir)
		if got, _, err := mark.read(); err != nil || got.below < end || got.epoch != 1 {
			t.Errorf("%d is acknowledged, and %+v marked, %v", end, got, err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if times := c.filesByNames[markFile]; times != 0 {
		t.Errorf("the mark was synced %d times", times)
	}
}

// A log that ends before what was durable has lost a file.
func TestALogThatLostItsLastSegmentDoesNotStart(t *testing.T) {
	mem, cfg := written(t, stopped)
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
	f := func(what string, end ending, change func(Log) error, want kafka.Offset) {
		t.Helper()
		mem, _ := written(t, end)
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
	f("a cut", stopped, func(l Log) error { return l.TruncateTo(2) }, 0)
	f("a cut", killed, func(l Log) error { return l.TruncateTo(2) }, 0)
	f("a cut above what is saved", killed, func(l Log) error { return l.TruncateTo(lagging + 2) }, lagging)
	f("another start", killed, func(l Log) error { return l.StartAt(100) }, 0)
}

// After a failed sync nobody knows which bytes the disk has, so a start in the
// same boot looks at all of them.
func TestAFailedSyncTakesTheNoteOfTheBootBack(t *testing.T) {
	mem, _ := written(t, stopped)
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
