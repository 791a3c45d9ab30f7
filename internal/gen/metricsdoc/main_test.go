package main

import (
	"os"
	"testing"
)

// The page is what the node registers now.
func TestPageIsCurrent(t *testing.T) {
	const path = "docs/reference/metrics.md"
	got, err := os.ReadFile("../../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != page() {
		t.Errorf("%s is not current; run: go run ./internal/gen/metricsdoc %s", path, path)
	}
}
