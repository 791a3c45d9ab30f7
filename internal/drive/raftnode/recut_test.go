package raftnode

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// byOthers cuts a log at an offset and appends batches of one record of a later epoch,
// as a process does that knows nothing of our notes and follows a new leader. None
// are appended in epoch 0.
func byOthers(t testing.TB, fsys vfs.FS, cut kafka.Offset, epoch kafka.Epoch, batches int) {
	t.Helper()
	l, err := openStorage(LogOptions{FS: fsys, Dir: metadataDir, SegmentBytes: 400, SegmentAge: defaultSegmentAge, MaxEpoch: math.MaxInt32, Promised: true})
	if err != nil {
		t.Fatal(err)
	}
	one := firstBatch(bytesOf(t, fsys, segments(t, fsys)[0]))
	log := l.(storageLog).Log
	if err := log.TruncateTo(cut); err != nil {
		t.Fatal(err)
	}
	for range batches {
		batch.SetBaseOffset(one, log.End())
		batch.SetLeaderEpoch(one, epoch)
		if _, err := log.AppendFollower(one, epoch); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(true); err != nil {
		t.Fatal(err)
	}
	if err := saveElection(fsys, metadataDir, raft.Election{Epoch: max(epoch, 1), Leader: kafka.NoNode}, 0, nil); err != nil {
		t.Fatal(err)
	}
}

// Rule: "so when a record below the mark is of a later epoch than all that stood there",
// another process has cut the log, rightly, and what it left is whole. Without that a
// log that ends below the mark has lost something.
func TestALogThatAnotherProcessCutIsTaken(t *testing.T) {
	f := func(what string, end ending, cut kafka.Offset, epoch kafka.Epoch, batches int, starts bool) {
		t.Helper()
		mem, cfg := written(t, end)
		byOthers(t, mem, cut, epoch, batches)
		before := contentsOf(t, mem)
		n, err := Start(t.Context(), cfg)
		switch {
		case starts && err != nil:
			t.Errorf("%s, %s: %v", what, end, err)
			return
		case starts:
			stop(t, n)
			stop(t, start(t, cfg))
			note, err := readDurable(mem, metadataDir)
			if v := n.View(); err != nil || note.below < v.LogEnd || note.foreign || note.found.epoch <= epoch {
				t.Errorf("%s, %s: the log ended at %d, %+v is noted, %v", what, end, v.LogEnd, note, err)
			}
			return
		case err == nil:
			stop(t, n)
			t.Errorf("%s, %s: it started", what, end)
			return
		case !strings.Contains(err.Error(), "remove "+metarec.DurableMarkFile+" and "+durableFile) || !strings.Contains(err.Error(), "add-controller"):
			t.Errorf("%s, %s: it does not say what can be done: %v", what, end, err)
		case !maps.Equal(before, contentsOf(t, mem)):
			t.Errorf("%s, %s: it changed files", what, end)
		}
		remove(t, mem, markFile)
		remove(t, mem, metadataDir+"/"+durableFile)
		stop(t, start(t, cfg))
	}
	for _, end := range []ending{stopped, killed} {
		f("cut and gone on", end, 5, 3, 1, true)
		f("cut to nothing and gone on", end, 0, 3, 1, true)
		f("cut, and longer again", end, 5, 3, 20, true)
		f("cut and stopped before anything else", end, 5, 0, 0, false)
		f("cut, and gone on in the same epoch", end, 5, 1, 1, false)
	}
}

// What stands before the cut is as it was: damage there stops the start. Above it nothing
// is known, so only the end of the last segment can be torn.
func TestWhatAnotherProcessLeftIsNotCutToo(t *testing.T) {
	f := func(what string, batches, segment int, change func([]byte) []byte, starts bool) {
		t.Helper()
		mem, cfg := written(t, stopped)
		byOthers(t, mem, 5, 3, batches)
		all := segments(t, mem)
		if segment < 0 {
			segment += len(all)
		}
		damaged(t, mem, all[segment], change)
		n, err := Start(t.Context(), cfg)
		if err == nil {
			stop(t, n)
		}
		if (err == nil) != starts {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("below the cut", 20, 0, flipLast, false)
	f("a hole behind it", 20, -2, flipLast, false)
	f("a torn end", 20, -1, half, true)
	f("a record that is torn", 3, -1, cutLast, true)
}

// A mark whose epoch is not known proves nothing: nor does what was saved later than it.
func TestOnlyAnEpochThatIsNotedProvesACut(t *testing.T) {
	later := []raft.EpochStart{{Epoch: 1, Start: 0}, {Epoch: 3, Start: 5}}
	f := func(found mark, saved, below kafka.Offset, foreign bool) {
		t.Helper()
		n := &durableNote{found: found, saved: saved, below: max(saved, found.below)}
		if n.recut(later); n.below != below || n.foreign != foreign {
			t.Errorf("%+v, saved %d: durable below %d, %v", found, saved, n.below, n.foreign)
		}
	}
	f(mark{9, 1}, 0, 5, true)
	f(mark{9, 2}, 12, 5, true)
	f(mark{9, 3}, 0, 9, false)
	f(mark{9, kafka.NoEpoch}, 0, 9, false)
	f(mark{5, 1}, 0, 5, false)
	f(mark{5, 1}, 12, 12, false) // the record was there when that was saved, perhaps
	f(noMark, 12, 12, false)
}

// A kill at each step of the first start leaves a folder that starts.
func TestAKillWhileAnotherProcessesCutIsTaken(t *testing.T) {
	for step := 0; ; step++ {
		first, cfg := written(t, stopped)
		byOthers(t, first, 5, 3, 1)
		mem := first.(*vfs.Mem)
		disk := vfs.NewFault(mem)
		disk.StopAfter(step)
		cfg.FS = disk
		l, err := cfg.withDefaults().openLog(3)
		if err == nil {
			if err := l.Close(); err == nil {
				return
			}
		}
		for kind, after := range map[string]vfs.FS{"killed": mem, "power lost": mem.Crash()} {
			cfg.FS = after
			l, err := cfg.withDefaults().openLog(3)
			if err != nil || l.End() != 6 {
				t.Fatalf("step %d, %s: %v", step, kind, err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if note, err := readDurable(after, metadataDir); err != nil || note.below > 6 || note.saved > 6 {
				t.Fatalf("step %d, %s: %+v, %v", step, kind, note, err)
			}
		}
	}
}
