// Package interop runs Apache Kafka's own tools and servers against our nodes
// and our folders.
package interop

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// clusterID is that of the clusters tests format.
const clusterID = "4L6g3nShT-eMCtK--X86sw"

// lines makes n distinct lines.
func lines(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s %d", prefix, i)
	}
	return all
}

func text(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// sameLines compares two sets of lines, whatever their order.
func sameLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %d lines of %d expected ones", what, len(got), len(want))
	}
}

// withPrefix drops what a tool prints beside the records.
func withPrefix(out, prefix string) []string {
	var kept []string
	for line := range strings.Lines(out) {
		if line = strings.TrimRight(line, "\r\n"); strings.HasPrefix(line, prefix) {
			kept = append(kept, line)
		}
	}
	return kept
}

func says(t *testing.T, out string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + p).MatchString(out) {
			t.Errorf("no %q in:\n%s", p, out)
		}
	}
}

// times counts the matches of a pattern.
func times(out, pattern string) int {
	return len(regexp.MustCompile("(?m)"+pattern).FindAllString(out, -1))
}

// fields splits a table's line.
func fields(line string) []string {
	r := csv.NewReader(strings.NewReader(strings.Join(strings.Fields(line), ",")))
	row, err := r.Read()
	if err != nil {
		return nil
	}
	return row
}

// files lists the files anywhere below a folder whose path ends as a pattern
// says.
func files(t *testing.T, dir, pattern string) []string {
	t.Helper()
	var all []string
	for _, depth := range []string{"", "*", "*/*", "*/*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, depth, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, slices.DeleteFunc(found, isFolder)...)
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func tool(t *testing.T, d *itest.Dev, script string, args ...string) string {
	t.Helper()
	return itest.MustKafkaTool(t, "", script, append([]string{"--bootstrap-server", d.Addr}, args...)...)
}
