package sim

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/planted"
)

var mutantsFlag = flag.String("mutants", "sample", "which planted bugs to look for: all, sample, or a name")

const root = "../.."

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
	for i, b := range all {
		if *mutantsFlag != "all" && *mutantsFlag != b.Name && (*mutantsFlag != "sample" || i%7 != 0) {
			continue
		}
		found++
		t.Run(b.Name, func(t *testing.T) { hunt(t, b) })
	}
	t.Logf("looked for %d of %d planted bugs", found, len(all))
}

// Every planted bug changes a line that is there, once.
func TestPlantedBugsFitTheCode(t *testing.T) {
	all := readMutants(t)
	if len(all) < 10 {
		t.Errorf("only %d planted bugs", len(all))
	}
	for _, b := range all {
		if _, err := b.Text(root); err != nil {
			t.Error(err)
		}
	}
}

func readMutants(t *testing.T) []planted.Bug {
	t.Helper()
	raw, err := os.ReadFile("testdata/mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := planted.Parse(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// hunt builds the tests with the bug and runs seeds until one breaks.
func hunt(t *testing.T, b planted.Bug) {
	overlay, err := b.Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-count=1", "-v", "-run", "^TestUntilABugIsFound$", ".", "-hunt")
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if rule := after(string(out), "found: "); err == nil && rule != "" {
		t.Logf("%s\n%s", b.What, rule)
		return
	}
	t.Errorf("not found: %s\n%s", b.What, out)
}

func after(text, mark string) string {
	_, rest, ok := strings.Cut(text, mark)
	if !ok {
		return ""
	}
	line, _, _ := strings.Cut(rest, "\n")
	return line
}
