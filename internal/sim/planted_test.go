//go:build planted

package sim

import (
	"flag"
	"hash/fnv"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/planted"
)

var mutantsFlag = flag.String("mutants", "sample", "which planted bugs to look for: all, sample (one of each file), or a name")

// The simulator finds planted bugs: the core is built with one line changed (an
// overlay of the compiler, the tree stays as it is), and a few seeds have to
// break a rule. Each is a build, so this test has a build tag of its own: where
// it does not run, it is not said to have passed.
func TestPlantedBugsAreFound(t *testing.T) {
	all := readMutants(t)
	chosen := chooseMutants(t, all)
	for _, b := range chosen {
		t.Run(b.Name, func(t *testing.T) { hunt(t, b) })
	}
	t.Logf("looked for %d of %d planted bugs", len(chosen), len(all))
}

func chooseMutants(t *testing.T, all []planted.Bug) []planted.Bug {
	switch *mutantsFlag {
	case "all":
		return all
	case "sample":
		turn := turnOf(t)
		sample := onePerFile(all, turn)
		if len(sample) < 10 {
			t.Errorf("a sample of only %d bugs", len(sample))
		}
		t.Logf("one bug of each file; turn %d", turn)
		return sample
	}
	for _, b := range all {
		if b.Name == *mutantsFlag {
			return []planted.Bug{b}
		}
	}
	t.Fatalf("no planted bug %q", *mutantsFlag)
	return nil
}

// turnOf is a number that differs from commit to commit, so that every bug has
// its turn, and is the same for everybody who tests a commit.
func turnOf(t *testing.T) uint32 {
	cmd := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD")
	cmd.Dir = root
	commit, err := cmd.Output()
	if err != nil {
		t.Logf("no commit to take the turn from: %v", err) // a tree without its history
	}
	h := fnv.New32a()
	_, _ = h.Write(commit)
	return h.Sum32()
}

// onePerFile takes one bug of each file, in the order of the list. Which one it
// is of several follows from the turn.
func onePerFile(all []planted.Bug, turn uint32) []planted.Bug {
	var files []string
	of := map[string][]planted.Bug{}
	for _, b := range all {
		if of[b.File] == nil {
			files = append(files, b.File)
		}
		of[b.File] = append(of[b.File], b)
	}
	var sample []planted.Bug
	for _, file := range files {
		bugs := of[file]
		sample = append(sample, bugs[turn%uint32(len(bugs))])
	}
	return sample
}

// A sample has a bug of every file, and every bug has its turn.
func TestEveryPlantedBugHasItsTurn(t *testing.T) {
	all, seen := readMutants(t), map[string]bool{}
	for turn := range uint32(len(all)) {
		files := map[string]bool{}
		for _, b := range onePerFile(all, turn) {
			seen[b.Name], files[b.File] = true, true
		}
		for _, b := range all {
			if !files[b.File] {
				t.Errorf("turn %d has no bug of %s", turn, b.File)
			}
		}
	}
	for _, b := range all {
		if !seen[b.Name] {
			t.Errorf("%s never has its turn", b.Name)
		}
	}
}

// hunt builds the tests with the bug and runs seeds until one breaks.
func hunt(t *testing.T, b planted.Bug) {
	overlay, err := b.Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-tags", "hunt", "-overlay", overlay, "-count=1", "-vet=off", "-v", "-run", "^TestUntilABugIsFound$", ".")
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath")
	out, err := cmd.CombinedOutput()
	if rule := textAfter(string(out), "found: "); err == nil && rule != "" {
		t.Logf("%s\n%s", b.What, rule)
		return
	}
	t.Errorf("not found: %s\n%s", b.What, out)
}

func textAfter(text, mark string) string {
	_, rest, ok := strings.Cut(text, mark)
	if !ok {
		return ""
	}
	line, _, _ := strings.Cut(rest, "\n")
	return line
}
