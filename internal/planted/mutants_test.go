//go:build planted

package planted

import (
	"flag"
	"os/exec"
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
	all, began := mutants(t), time.Now()
	chosen := choose(t, all)
	found, looked := 0, 0
	for i, b := range chosen {
		if *mutantsFlag == "sample" && i >= sampleFloor && time.Since(began) > *sampleFlag {
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
	t.Logf("ledger: planted bugs found, of %d that there are | %d of %d", len(all), found, looked)
}

func choose(t *testing.T, all []Bug) []Bug {
	t.Helper()
	switch *mutantsFlag {
	case "all":
		return all
	case "sample":
		return shuffled(all, commit(t))
	}
	for _, b := range all {
		if b.Name == *mutantsFlag {
			return []Bug{b}
		}
	}
	t.Fatalf("no planted bug %q", *mutantsFlag)
	return nil
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
