//go:build planted

package planted

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var statementFlag = flag.String("statement", "all", "plant the bug of one statement (P1, S1, ...), of all of KIP-996 (P) or KIP-858 (S), or of all")

// Each bug turns the test of its statement red, and no other one. Each is
// a build, so this test has a build tag: where it does not run, it is not said to
// have passed.
func TestStatementBugs(t *testing.T) {
	found, exact := 0, 0
	for _, d := range designs {
		for _, b := range d.bugs(t) {
			if !slices.Contains([]string{"all", d.letter, b.Name}, *statementFlag) {
				continue
			}
			found++
			t.Run(b.Name, func(t *testing.T) {
				red := d.red(t, b)
				if slices.Equal(red, []string{b.Name}) {
					exact++
				} else {
					t.Errorf("%s: red are %v", b.What, red)
				}
				t.Logf("%s\nred: %v", b.What, red)
			})
		}
	}
	t.Logf("%d of %d exact", exact, found)
	if found == 0 {
		t.Errorf("no statement %q", *statementFlag)
	}
}

// red names the statements of the design whose tests fail with a bug.
func (d design) red(t *testing.T, b Bug) []string {
	plan, err := b.Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"test", "-vet=off", "-overlay", plan, "-count=1", "-run", "^Test" + d.name + "_"}, d.packages()...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS=-trimpath")
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil && (strings.Contains(text, "build failed") || !strings.Contains(text, "--- FAIL")) {
		t.Fatalf("%s\n%s", b.Name, text)
	}
	var red []string
	failed := regexp.MustCompile(`(?m)^--- FAIL: Test` + d.name + `_([A-Z]\d+)`)
	for _, m := range failed.FindAllStringSubmatch(text, -1) {
		red = append(red, m[1])
	}
	slices.Sort(red)
	return slices.Compact(red)
}
