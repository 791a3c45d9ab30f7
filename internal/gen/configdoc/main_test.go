package main

import (
	"os"
	"strings"
	"testing"
)

// Rule: the reference is the tables' own words.
func TestReferenceIsCurrent(t *testing.T) {
	file := "../../../docs/reference/configuration.md"
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != page() {
		t.Error("docs/reference/configuration.md is not current; run: go run ./internal/gen/configdoc docs/reference/configuration.md")
	}
}

// Rule: every row has as many cells as its heading.
func TestRowsAreWhole(t *testing.T) {
	columns := 0
	for line := range strings.Lines(page()) {
		switch n := strings.Count(line, " | "); {
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns == 0:
			columns = n
		case n != columns:
			t.Errorf("%d columns, want %d: %s", n, columns, line)
		}
	}
}
