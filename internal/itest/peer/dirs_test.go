package peer

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A directory that is broken takes nothing, neither at the end of a file that is open nor
// in a new one, and shows what is there. Mended, it takes both.
func TestABrokenDirectoryTakesNothing(t *testing.T) {
	n := &Node{ID: 1, Dirs: []string{filepath.Join(t.TempDir(), "data")}, c: &Cluster{t: t}}
	n.mount(1 << 20)
	name := filepath.Join(n.Last(), "a")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("kept"); err != nil {
		t.Fatal(err)
	}
	n.Break()
	if _, err := f.Write(make([]byte, 8192)); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("an open file was written to: %v", err)
	}
	if err := os.WriteFile(filepath.Join(n.Last(), "b"), nil, 0o644); !errors.Is(err, unix.EROFS) {
		t.Errorf("a file was made: %v", err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text[:4]) != "kept" {
		t.Errorf("read %q: %v", text, err)
	}
	n.Mend()
	if _, err := f.WriteString("more"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(n.Last(), "b"), nil, 0o644); err != nil {
		t.Error(err)
	}
}

// An index that has a size and no page yet is told.
func TestAnIndexWithoutAPageIsTold(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "t-0"), 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "t-0", "00.timeindex")
	for _, size := range []int64{0, 4096} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
		if err := indexed(dir); (err != nil) != (size > 0) {
			t.Errorf("size %d: %v", size, err)
		}
	}
}
