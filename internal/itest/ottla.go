package itest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var built struct {
	sync.Once
	path string
	err  error
}

// Bin is our binary.
func Bin(t testing.TB) string {
	t.Helper()
	if bin := os.Getenv("OTTLA_BIN"); bin != "" {
		return bin
	}
	built.Do(func() {
		dir, err := os.MkdirTemp("", "ottla-bin-")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "ottla")
		build := exec.Command("go", "build", "-o", built.path, "./cmd/ottla")
		build.Dir = Root()
		if out, err := Run("", build); err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// Ottla runs a sub-command to its end, fails the test when it fails, and returns
// what it printed on standard output.
func Ottla(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command(Bin(t), args...)
	var errs strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ottla %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// WriteFile writes a file into a fresh folder and returns its path.
func WriteFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Folder is a fresh folder whose path has no commas, for log.dirs. A test's own
// has them when its name does. It is removed at the end of the test.
func Folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ottla-node-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
