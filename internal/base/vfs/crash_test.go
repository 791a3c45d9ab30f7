package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// crashers are the disks that can lose power, with what does it.
func crashers(t *testing.T, f func(t *testing.T, d FS, root string, crash func() FS)) {
	t.Helper()
	t.Run("mem", func(t *testing.T) {
		m := NewMem()
		must(t, MkdirAllSync(m, "/d", 0o755))
		f(t, m, "/d", func() FS { return m.Crash() })
	})
	t.Run("lossy", func(t *testing.T) {
		journal, root := t.TempDir(), filepath.Join(t.TempDir(), "d")
		must(t, os.Mkdir(root, 0o755))
		l, err := NewLossy(journal, root)
		must(t, err)
		f(t, l, root, func() FS {
			must(t, DropUnsynced(journal, 0, root))
			again, err := NewLossy(journal, root)
			must(t, err)
			if again.BootID(".") == l.BootID(".") {
				t.Error("the boot id is that from before the crash")
			}
			return again
		})
	})
}

func TestACrashKeepsSyncedBytesOnly(t *testing.T) {
	crashers(t, func(t *testing.T, d FS, root string, crash func() FS) {
		name := filepath.Join(root, "f")
		f, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		must(t, err)
		for i, text := range []string{"synced", "SYN", "lost", ""} {
			off := int64(0)
			if i == 2 {
				off = 6
			}
			_, err := f.WriteAt([]byte(text), off)
			must(t, err)
			if i < 2 {
				must(t, f.Sync())
			}
		}
		must(t, d.SyncDir(root))
		holds(t, crash(), name, "SYNced")
	})
}

func TestACrashUndoesATruncationThatWasNotSynced(t *testing.T) {
	crashers(t, func(t *testing.T, d FS, root string, crash func() FS) {
		name := filepath.Join(root, "f")
		must(t, WriteFileAtomic(d, name, []byte("0123456789")))
		f, err := d.OpenFile(name, os.O_RDWR, 0)
		must(t, err)
		must(t, f.Truncate(4))
		_, err = f.WriteAt([]byte("ab"), 4)
		must(t, err)
		holds(t, crash(), name, "0123456789")
	})
}

func TestACrashKeepsSyncedEntriesOnly(t *testing.T) {
	crashers(t, func(t *testing.T, d FS, root string, crash func() FS) {
		in := func(base string) string { return filepath.Join(root, base) }
		for _, name := range []string{"kept", "removed", "renamed"} {
			must(t, WriteFileAtomic(d, in(name), []byte(name)))
		}
		must(t, d.Remove(in("removed")))
		must(t, d.Rename(in("renamed"), in("elsewhere")))
		write(t, d, in("created"), "created")
		after := crash()
		for _, name := range []string{"kept", "removed", "renamed"} {
			holds(t, after, in(name), name)
		}
		absent(t, after, in("elsewhere"))
		absent(t, after, in("created"))
	})
}

func TestAFileThatIsEnteredButNotSyncedIsEmpty(t *testing.T) {
	crashers(t, func(t *testing.T, d FS, root string, crash func() FS) {
		write(t, d, filepath.Join(root, "f"), "text")
		must(t, d.SyncDir(root))
		holds(t, crash(), filepath.Join(root, "f"), "")
	})
}

func TestASyncHoldsForTheFileWhateverItIsCalled(t *testing.T) {
	crashers(t, func(t *testing.T, d FS, root string, crash func() FS) {
		name := filepath.Join(root, "f")
		f, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		must(t, err)
		must(t, d.Rename(name, name+"2"))
		_, err = f.Write([]byte("late"))
		must(t, err)
		must(t, f.Sync())
		must(t, d.SyncDir(root))
		after := crash()
		holds(t, after, name+"2", "late")
		absent(t, after, name)
	})
}

func TestWriteFileAtomicIsOldOrNewAtEveryStep(t *testing.T) {
	for stop := 0; ; stop++ {
		disk := NewMem()
		must(t, WriteFileAtomic(disk, "/f", []byte("old")))
		fault := NewFault(disk)
		fault.StopAfter(stop)
		err := WriteFileAtomic(fault, "/f", []byte("new"))
		for seed := range uint64(20) {
			after := disk.CrashTorn(seed)
			b, readErr := ReadFile(after, "/f", 100)
			if readErr != nil || string(b) != "old" && string(b) != "new" {
				t.Fatalf("stopped after %d, seed %d: %q %v", stop, seed, b, readErr)
			}
			if err == nil && string(b) != "new" {
				t.Fatalf("seed %d: success was told but the file is old", seed)
			}
		}
		if err == nil {
			return
		}
	}
}

func TestATornCrashIsTheSameForTheSameSeedAndVaries(t *testing.T) {
	disk := NewMem()
	must(t, WriteFileAtomic(disk, "/f", []byte("0123456789")))
	f, err := disk.OpenFile("/f", os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("abcdefghij"), 10)
	must(t, err)
	seen := map[string]bool{}
	for seed := range uint64(50) {
		one, err := ReadFile(disk.CrashTorn(seed), "/f", 100)
		must(t, err)
		two, err := ReadFile(disk.CrashTorn(seed), "/f", 100)
		must(t, err)
		if string(one) != string(two) {
			t.Errorf("seed %d leaves %q and %q", seed, one, two)
		}
		if !strings.HasPrefix(string(one), "0123456789") {
			t.Errorf("seed %d: synced bytes are gone: %q", seed, one)
		}
		seen[string(one)] = true
	}
	if len(seen) < 5 {
		t.Errorf("50 seeds leave only %d different files", len(seen))
	}
}

func TestAFaultStrikesWhereItsRuleSays(t *testing.T) {
	disk := NewMem()
	f := NewFault(disk)
	f.Inject(Rule{Ops: OpWrite, Path: "a.log", Skip: 1, Only: 1, Err: ErrNoSpace, Short: true})
	f.Inject(Rule{Ops: OpSync, Path: "b.log", Err: ErrIO})
	a, err := f.OpenFile("/a.log", os.O_RDWR|os.O_CREATE, 0o644)
	must(t, err)
	b, err := f.OpenFile("/b.log", os.O_RDWR|os.O_CREATE, 0o644)
	must(t, err)
	_, err = a.Write([]byte("first"))
	must(t, err)
	if n, err := a.WriteAt([]byte("second"), 5); n != 3 || !errors.Is(err, ErrNoSpace) {
		t.Errorf("the second write gives %d %v, want half of it and ENOSPC", n, err)
	}
	holds(t, disk, "/a.log", "firstsec")
	_, err = a.WriteAt([]byte("third"), 0)
	must(t, err)
	must(t, a.Sync())
	for range 2 {
		if err := b.Sync(); !errors.Is(err, ErrIO) {
			t.Errorf("sync gives %v, want EIO each time", err)
		}
	}
	f.Heal()
	must(t, b.Sync())
}

func TestAHangingOperationWaitsForItsRelease(t *testing.T) {
	f := NewFault(NewMem())
	release := make(chan struct{})
	f.Inject(Rule{Ops: OpSyncDir, Hang: release})
	done := make(chan error)
	go func() { done <- f.SyncDir("/") }()
	select {
	case err := <-done:
		t.Fatalf("the operation came back: %v", err)
	default:
	}
	close(release)
	must(t, <-done)
}

func TestDropUnsyncedWithASeedKeepsTheSyncedBytes(t *testing.T) {
	for seed := uint64(1); seed < 20; seed++ {
		journal, root := t.TempDir(), filepath.Join(t.TempDir(), "d")
		must(t, os.Mkdir(root, 0o755))
		l, err := NewLossy(journal, root)
		must(t, err)
		name := filepath.Join(root, "f")
		must(t, WriteFileAtomic(l, name, []byte("synced ")))
		f, err := l.OpenFile(name, os.O_RDWR, 0)
		must(t, err)
		_, err = f.WriteAt([]byte("and not"), 7)
		must(t, err)
		must(t, f.Close())
		must(t, DropUnsynced(journal, seed, root))
		b, err := os.ReadFile(name)
		must(t, err)
		if !strings.HasPrefix("synced and not", string(b)) || len(b) < 7 {
			t.Errorf("seed %d leaves %q", seed, b)
		}
	}
}

func TestACrashTakesAnUnsyncedLinkAndNotItsFile(t *testing.T) {
	m := NewMem()
	must(t, MkdirAllSync(m, "/d/a", 0o755))
	must(t, MkdirAllSync(m, "/d/b", 0o755))
	must(t, WriteFileAtomic(m, "/d/a/f", []byte("bytes")))
	must(t, m.Link("/d/a/f", "/d/b/f"))
	after := m.Crash()
	holds(t, after, "/d/a/f", "bytes")
	absent(t, after, "/d/b/f")
	must(t, m.SyncDir("/d/b"))
	holds(t, m.Crash(), "/d/b/f", "bytes")
}
