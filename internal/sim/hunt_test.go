package sim

import (
	"flag"
	"fmt"
	"testing"
)

var huntFlag = flag.Bool("hunt", false, "a bug is planted: play seeds until one breaks")

// huntLimit is how many seeds are played to find a planted bug.
const huntLimit = 1000

// TestUntilABugIsFound is the other half of TestPlantedBugsAreFound: it runs in
// the build that holds the bug.
func TestUntilABugIsFound(t *testing.T) {
	if !*huntFlag {
		return
	}
	for seed := range uint64(huntLimit) {
		if r := Run(seed, nil); r.Failure != nil {
			fmt.Printf("found: seed %d, %v\n", seed, r.Failure)
			return
		}
	}
	t.Errorf("all rules hold in %d seeds", huntLimit)
}
