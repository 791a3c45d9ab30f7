//go:build spec

package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each planted mistake of testdata/mutants.txt changes one line of a
// specification, and its property breaks.
func TestPlantedMistakesAreFound(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	found, all := 0, 0
	for _, m := range strings.Split(string(text), "\n\n")[1:] {
		lines := strings.Split(strings.TrimSpace(m), "\n")
		if len(lines) != 5 {
			t.Fatalf("a mistake has five lines: %q", lines)
		}
		all++
		if planted(t, lines) {
			found++
		} else {
			t.Errorf("not found: %s: %s", lines[1], lines[0])
		}
	}
	t.Logf("ledger: spec: planted mistakes | %d of %d found", found, all)
	if all < 22 {
		t.Errorf("only %d planted mistakes", all)
	}
}

// planted changes a copy of the specifications and tells whether the check of the
// last line fails.
func planted(t *testing.T, m []string) bool {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(source(t))); err != nil {
		t.Fatal(err)
	}
	name, file, before, after, check := m[0], m[1], m[2], m[3], strings.Fields(m[4])
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), before); n != 1 {
		t.Fatalf("%s: %q stands in %s %d times", name, before, file, n)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(strings.Replace(string(text), before, after, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	switch check[0] {
	case "tla":
		return tla(t, dir, check[1], check[2], "", check[3:]...).broken
	case "spin":
		return spin(t, dir, check[1], "", "", check[2:]...).broken
	case "ltl":
		return spin(t, dir, check[1], check[2], "", check[3:]...).broken
	}
	t.Fatalf("%s: no check %q", name, check)
	return false
}
