//go:build planted

package planted

import (
	"flag"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	mutantsFlag = flag.String("mutants", "all", "which planted bugs to look for: all, sample, or a name")
	sampleFlag  = flag.Duration("sample", 3*time.Minute, "how long a sample goes on after its first bugs")
)

// Each planted bug is found by the layer that is said to find it: the quorum is
// built with one line changed (an overlay of the compiler, the tree stays as it
// is), and that layer alone has to notice. Each is a build, so this test has a
// build tag: where it does not run, it is not said to have passed.
func TestMutants(t *testing.T) {
	all := mutants(t)
	named := func(b Bug) bool { return b.Name == *mutantsFlag }
	if *mutantsFlag != "all" && *mutantsFlag != "sample" && !slices.ContainsFunc(append(mistakes(t), all...), named) {
		t.Fatalf("no planted bug %q", *mutantsFlag)
	}
	found, looked := look(t, all, sampleFloor, *sampleFlag)
	t.Logf("ledger: planted bugs found, of %d that there are | %d of %d", len(all), found, looked)
}

// The same of the abstract model: a guard of it that is too weak would let pass what
// the quorum may not do.
func TestMistakesOfTheModel(t *testing.T) {
	all := mistakes(t)
	found, looked := look(t, all, sampleFloor/2, 0)
	t.Logf("ledger: planted mistakes of the abstract model found, of %d that there are | %d of %d", len(all), found, looked)
}

// look looks for the chosen ones, of a sample for the first few and then for a while.
func look(t *testing.T, all []Bug, floor int, limit time.Duration) (found, looked int) {
	began := time.Now()
	for i, b := range choose(t, all) {
		if *mutantsFlag == "sample" && i >= floor && time.Since(began) > limit {
			break
		}
		looked++
		t.Run(b.Name, func(t *testing.T) {
			red, ok := b.found(t)
			if !ok {
				t.Errorf("not found by %s: %s", b.Layer, b.What)
				return
			}
			found++
			t.Logf("%s\n%s: %s", b.What, b.Layer, red)
		})
	}
	return found, looked
}

func choose(t *testing.T, all []Bug) []Bug {
	t.Helper()
	switch *mutantsFlag {
	case "all":
		return all
	case "sample":
		return shuffled(all, commit(t))
	}
	return slices.DeleteFunc(all, func(b Bug) bool { return b.Name != *mutantsFlag })
}

func commit(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Logf("no commit to take the order from: %v", err) // a tree without its history
	}
	return strings.TrimSpace(string(out))
}
