package storage

import (
	"errors"
	"os"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Too many open files say nothing about the disk: each operation is refused or
// put off, at whatever file it meets them, and all goes well afterwards.
func TestTooManyOpenFilesAreNoFailure(t *testing.T) {
	txn := func(sequence int32) batch.Options {
		return batch.Options{Producer: &batch.Producer{ID: 7, Sequence: sequence}, Transactional: true}
	}
	for skip := range 25 {
		r := compacted(t, func(o *Options) { o.Files = NewFiles(1) })
		r.put(batch.Options{}, "a=1", "b=1")
		r.put(txn(0), "a=2")
		must(t, r.Roll())
		r.put(batch.Options{}, "c=1")
		must(t, r.CloseIdle())
		r.fault.Inject(vfs.Rule{Ops: vfs.OpOpen | vfs.OpCreate | vfs.OpSyncDir, Skip: skip, Err: vfs.ErrTooManyFiles})
		refused := func(doing string, err error) {
			t.Helper()
			if err != nil && !errors.Is(err, kerr.KafkaStorageError) {
				t.Errorf("skip %d: %s gives %v, want KAFKA_STORAGE_ERROR", skip, doing, err)
			}
		}
		end := r.End()
		_, _, err := r.OffsetForTimestamp(0, end)
		refused("a lookup", err)
		refused("the end of a transaction", r.end(0, batch.Abort, 0))
		aborted := r.End() > end
		refused("a roll", r.Roll())
		_, err = r.AppendLeader(records("x", 1, 1, batch.Options{}), 9)
		refused("an append", err)
		_, err = r.Sync()
		refused("a sync", err)
		refused("a tick", r.Tick())
		if d, err := r.Dirt(0, 3, never); err == nil {
			_, err = (&Compactor{KeyBytes: 1 << 20}).Compact(r.Log, d)
			refused("a compaction", err)
		} else {
			refused("a look for dirt", err)
		}
		r.fault.Heal()
		if r.Err() != nil {
			t.Fatalf("skip %d: the log failed: %v", skip, r.Err())
		}
		want := r.pairs()
		if got, err := r.AbortedTxns(0, r.End()); err != nil || (len(got) == 1) != aborted {
			t.Errorf("skip %d: aborted transactions are %v %v, want one: %v", skip, got, err, aborted)
		}
		r.append(plain("last", 1))
		synced, err := r.Sync()
		must(t, err)
		checkDerived(t, r.Log)
		// What a sync calls synced after one that was refused is so.
		r.opt.FS, r.opt.RecoveryPoint = r.disk.Crash(), synced
		epochs := len(r.Epochs())
		r.open()
		if got := r.pairs(); got != want+" "+r.pairsFrom(synced-1) || len(r.Epochs()) != epochs {
			t.Errorf("skip %d: after a crash the log holds %q, want %q and one more", skip, got, want)
		}
	}
}

func TestThePoolGivesFilesBackWhenThereAreTooMany(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Files = NewFiles(100) })
	for range 5 {
		r.append(plain("a", 1))
		must(t, r.Roll())
	}
	before := r.opt.Files.Open()
	r.fault.Inject(vfs.Rule{Ops: vfs.OpOpen, Path: ".log", Only: 1, Err: vfs.ErrTooManyFiles})
	must(t, r.segments[0].closeIdle())
	_, err := r.segments[0].read(0, 1)
	must(t, err)
	if n := r.opt.Files.Open(); n > before/2+1 || r.Err() != nil {
		t.Errorf("%d files are open, %d were; %v", n, before, r.Err())
	}
}

func TestAReaderMakesNoFile(t *testing.T) {
	r := newRig(t)
	r.append(plain("a", 1))
	must(t, r.CloseIdle())
	name := testDir + "/" + FileName(0, logSuffix)
	must(t, r.disk.Remove(name))
	if _, err := r.segments[0].read(0, 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a read of a missing file gives %v", err)
	}
	if there, err := vfs.Exists(r.disk, name); err != nil || there {
		t.Error("a reader made an empty file of a removed one")
	}
}
