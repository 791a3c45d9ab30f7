package sim

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var mutantsFlag = flag.String("mutants", "sample", "which planted bugs to look for: all, sample, or a name")

// mutant is a bug of one line that somebody planted.
type mutant struct{ name, what, file, was, is string }

// The simulator finds planted bugs: the core is built with one line changed (an
// overlay of the compiler, the tree stays as it is), and a few seeds have to
// break a rule.
func TestPlantedBugsAreFound(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Log("none: each is a build")
		return
	}
	all := readMutants(t)
	found := 0
	for i, m := range all {
		if *mutantsFlag != "all" && *mutantsFlag != m.name && (*mutantsFlag != "sample" || i%7 != 0) {
			continue
		}
		found++
		t.Run(m.name, func(t *testing.T) { m.hunt(t) })
	}
	t.Logf("looked for %d of %d planted bugs", found, len(all))
}

// Every planted bug changes a line that is there, once.
func TestPlantedBugsFitTheCode(t *testing.T) {
	all := readMutants(t)
	if len(all) < 10 {
		t.Errorf("only %d planted bugs", len(all))
	}
	for _, m := range all {
		m.text(t)
	}
}

func readMutants(t *testing.T) []mutant {
	t.Helper()
	raw, err := os.ReadFile("testdata/mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []mutant
	for _, block := range strings.Split(strings.TrimSpace(string(raw)), "\n\n")[1:] {
		lines := strings.Split(block, "\n")
		if len(lines) != 5 || lines[3][0] != '-' || lines[4][0] != '+' {
			t.Fatalf("not a planted bug:\n%s", block)
		}
		all = append(all, mutant{lines[0], lines[1], lines[2], lines[3][1:], lines[4][1:]})
	}
	return all
}

// text is the file with the bug in it.
func (m mutant) text(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", m.file))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(raw), m.was+"\n"); n != 1 {
		t.Fatalf("%s: %s has %d lines %q", m.name, m.file, n, m.was)
	}
	return strings.Replace(string(raw), m.was+"\n", m.is+"\n", 1)
}

// hunt builds the tests with the bug and runs seeds until one breaks.
func (m mutant) hunt(t *testing.T) {
	dir := t.TempDir()
	planted, overlay := filepath.Join(dir, "planted.go"), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(filepath.Join("..", "..", m.file))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := json.Marshal(map[string]map[string]string{"Replace": {original: planted}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{planted: []byte(m.text(t)), overlay: plan} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-count=1", "-v", "-run", "^TestUntilABugIsFound$", ".", "-hunt")
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if rule := after(string(out), "found: "); err == nil && rule != "" {
		t.Logf("%s\n%s", m.what, rule)
		return
	}
	t.Errorf("not found: %s\n%s", m.what, out)
}

func after(text, mark string) string {
	_, rest, ok := strings.Cut(text, mark)
	if !ok {
		return ""
	}
	line, _, _ := strings.Cut(rest, "\n")
	return line
}
