package planted

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/kip-996.md has a row for each statement, and each has a test and a bug.
func TestStatementsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "docs", "kip-996.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, m := range regexp.MustCompile(`(?m)^\| (P\d+) \|`).FindAllStringSubmatch(string(raw), -1) {
		rows = append(rows, m[1])
	}
	if len(rows) != 12 {
		t.Errorf("the page has %d statements: %v", len(rows), rows)
	}
	tests := ""
	for _, folder := range statementTests {
		text, err := os.ReadFile(filepath.Join(root, folder, "kip996_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		tests += string(text)
	}
	explored, err := os.ReadFile(filepath.Join(root, "internal", "core", "raft", "explore_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	tests += string(explored)
	bugs := map[string]bool{}
	for _, b := range statementBugs(t) {
		bugs[b.Name] = true
	}
	for _, p := range rows {
		if !strings.Contains(tests, "func TestKIP996_"+p+"(") {
			t.Errorf("%s has no test", p)
		}
		if !bugs[p] {
			t.Errorf("%s has no planted bug", p)
		}
	}
}

// The files that the page names as rules are there.
func TestThePageNamesFilesThatAreThere(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "docs", "kip-996.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range strings.Split(string(raw), "\n") {
		cells := strings.Split(row, " | ")
		if !strings.HasPrefix(row, "| P") || len(cells) < 4 {
			continue
		}
		for _, file := range regexp.MustCompile("`([a-z/_]+\\.go)`").FindAllStringSubmatch(cells[2], -1) {
			folder := "internal/core/raft"
			if strings.Contains(file[1], "/") {
				folder = "internal"
			}
			if _, err := os.Stat(filepath.Join(root, folder, file[1])); err != nil {
				t.Errorf("the page names %s: %v", file[1], err)
			}
		}
	}
}
