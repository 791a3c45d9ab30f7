package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// disks are all implementations; each case of the suite runs on every one.
func disks(t *testing.T) map[string]struct {
	FS
	root string
} {
	t.Helper()
	type disk = struct {
		FS
		root string
	}
	lossy, err := NewLossy(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]disk{
		"os":    {OS{}, t.TempDir()},
		"mem":   {NewMem(), "/"},
		"fault": {NewFault(NewMem()), "/"},
		"lossy": {lossy, t.TempDir()},
	}
	return all
}

func each(t *testing.T, f func(t *testing.T, d FS, root string)) {
	t.Helper()
	for name, d := range disks(t) {
		t.Run(name, func(t *testing.T) { f(t, d.FS, d.root) })
	}
}

func write(t testing.TB, d FS, name, text string) {
	t.Helper()
	f, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func holds(t testing.TB, d FS, name, want string) {
	t.Helper()
	b, err := ReadFile(d, name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != want {
		t.Errorf("%s holds %q, want %q", name, b, want)
	}
}

func absent(t testing.TB, d FS, name string) {
	t.Helper()
	if ok, err := Exists(d, name); ok || err != nil {
		t.Errorf("%s: exists %v, error %v; want it absent", name, ok, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFileKeepsWhatIsWrittenAnywhereInIt(t *testing.T) {
	each(t, func(t *testing.T, d FS, root string) {
		name := filepath.Join(root, "f")
		f, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		must(t, err)
		for _, w := range []struct {
			text string
			off  int64
		}{{"hello", 0}, {"world", 7}, {"J", 0}} {
			_, err := f.WriteAt([]byte(w.text), w.off)
			must(t, err)
		}
		holds(t, d, name, "Jello\x00\x00world")
		must(t, f.Truncate(3))
		must(t, f.Truncate(5)) // grows with zeros, not with old bytes
		holds(t, d, name, "Jel\x00\x00")
		if n, err := f.Size(); n != 5 || err != nil {
			t.Errorf("size %d %v, want 5", n, err)
		}
		b := make([]byte, 8)
		if n, err := f.ReadAt(b, 2); n != 3 || !errors.Is(err, io.EOF) {
			t.Errorf("a read over the end gives %d %v, want 3 and EOF", n, err)
		}
		if n, err := f.ReadAt(b, 5); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("a read at the end gives %d %v, want 0 and EOF", n, err)
		}
		must(t, f.Sync())
		must(t, f.Close())
		if _, err := f.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("writing to a closed file gives %v", err)
		}
	})
}

func TestErrorsCarryTheWellKnownCauses(t *testing.T) {
	each(t, func(t *testing.T, d FS, root string) {
		missing := filepath.Join(root, "no", "file")
		f := func(err, want error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("error %v, want %v", err, want)
			}
		}
		_, err := d.OpenFile(missing, os.O_RDONLY, 0)
		f(err, fs.ErrNotExist)
		_, err = d.OpenFile(missing, os.O_RDWR|os.O_CREATE, 0o644)
		f(err, fs.ErrNotExist)
		_, err = d.ReadDir(missing)
		f(err, fs.ErrNotExist)
		_, err = d.Stat(missing)
		f(err, fs.ErrNotExist)
		f(d.Remove(missing), fs.ErrNotExist)
		f(d.Rename(missing, filepath.Join(root, "x")), fs.ErrNotExist)
		must(t, d.RemoveAll(missing))
		write(t, d, filepath.Join(root, "there"), "")
		_, err = d.OpenFile(filepath.Join(root, "there"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		f(err, fs.ErrExist)
	})
}

func TestFoldersListRenameAndRemove(t *testing.T) {
	each(t, func(t *testing.T, d FS, root string) {
		sub := filepath.Join(root, "a", "b")
		must(t, MkdirAllSync(d, sub, 0o755))
		if err := d.Mkdir(sub, 0o755); !errors.Is(err, fs.ErrExist) {
			t.Errorf("making a folder that is there gives %v", err)
		}
		if err := d.Mkdir(filepath.Join(root, "no", "b"), 0o755); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("making a folder in one that is not there gives %v", err)
		}
		must(t, d.Mkdir(filepath.Join(root, "made"), 0o755))
		if info, err := d.Stat(filepath.Join(root, "made")); err != nil || !info.IsDir() {
			t.Errorf("the folder that was made: %v", err)
		}
		write(t, d, filepath.Join(sub, "2"), "two")
		write(t, d, filepath.Join(sub, "1"), "one")
		list, err := d.ReadDir(sub)
		must(t, err)
		if len(list) != 2 || list[0].Name() != "1" || list[1].Name() != "2" || list[0].IsDir() {
			t.Errorf("list is %v", list)
		}
		if d.Remove(sub) == nil {
			t.Error("a folder with files was removed as if it were empty")
		}
		must(t, d.Rename(filepath.Join(sub, "1"), filepath.Join(sub, "2")))
		holds(t, d, filepath.Join(sub, "2"), "one")
		absent(t, d, filepath.Join(sub, "1"))
		moved := filepath.Join(root, "c")
		must(t, d.Rename(sub, moved))
		holds(t, d, filepath.Join(moved, "2"), "one")
		must(t, d.SyncDir(root))
		must(t, d.RemoveAll(moved))
		absent(t, d, filepath.Join(moved, "2"))
	})
}

func TestAnOpenFileOutlivesItsName(t *testing.T) {
	each(t, func(t *testing.T, d FS, root string) {
		name := filepath.Join(root, "f")
		write(t, d, name, "old")
		f, err := d.OpenFile(name, os.O_RDWR, 0)
		must(t, err)
		defer f.Close()
		write(t, d, name+"2", "new")
		must(t, d.Rename(name+"2", name))
		b := make([]byte, 3)
		_, err = f.ReadAt(b, 0)
		must(t, err)
		if string(b) != "old" {
			t.Errorf("the open file reads %q, want the old bytes", b)
		}
		holds(t, d, name, "new")
	})
}

func TestALockIsHeldOnceAndGivenUp(t *testing.T) {
	each(t, func(t *testing.T, d FS, root string) {
		name := filepath.Join(root, ".lock")
		l, err := d.Lock(name)
		must(t, err)
		if _, err := d.Lock(name); !errors.Is(err, ErrLocked) {
			t.Errorf("the second lock gives %v, want ErrLocked", err)
		}
		must(t, l.Close())
		l, err = d.Lock(name) // the file that is left does no harm
		must(t, err)
		must(t, l.Close())
	})
}

func TestWriteFileAtomicReplacesAndLeavesNothingAside(t *testing.T) {
	each(t, func(t *testing.T, d FS, root string) {
		name := filepath.Join(root, "f")
		must(t, WriteFileAtomic(d, name, []byte("one")))
		must(t, WriteFileAtomic(d, name, []byte("two")))
		must(t, ReplaceFile(d, name, []byte("three")))
		holds(t, d, name, "three")
		absent(t, d, name+tmpSuffix)
		if _, err := ReadFile(d, name, 4); err == nil {
			t.Error("a file longer than the limit was read")
		}
	})
}

func TestABootIDAndSpaceAreKnown(t *testing.T) {
	each(t, func(t *testing.T, d FS, root string) {
		if first, again := d.BootID("."), d.BootID("."); first == "" || first != again {
			t.Error("the boot id is empty or changes")
		}
		total, usable, err := d.Space(root)
		must(t, err)
		if total <= 0 || usable < 0 || usable > total {
			t.Errorf("space is %d of %d", usable, total)
		}
	})
}

func TestALinkIsASecondNameOrRefused(t *testing.T) {
	each(t, func(t *testing.T, d FS, root string) {
		first, second := filepath.Join(root, "first"), filepath.Join(root, "second")
		write(t, d, first, "the bytes")
		err := d.Link(first, second)
		if errors.Is(err, errors.ErrUnsupported) {
			absent(t, d, second)
			return
		}
		must(t, err)
		must(t, d.Remove(first))
		holds(t, d, second, "the bytes")
		write(t, d, first, "others")
		holds(t, d, second, "the bytes")
		if err := d.Link(first, second); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a link to a name that is taken gives %v", err)
		}
		if err := d.Link(filepath.Join(root, "no"), filepath.Join(root, "x")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a link of a file that is not there gives %v", err)
		}
	})
}
