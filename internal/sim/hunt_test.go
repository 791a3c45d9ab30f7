package sim

import (
	"flag"
	"fmt"
	"testing"
)

var huntFlag = flag.Bool("hunt", false, "a bug is planted: play seeds until one breaks")

// TestUntilABugIsFound is the other half of TestPlantedBugsAreFound: it runs in
// the build that holds the bug.
func TestUntilABugIsFound(t *testing.T) {
	if !*huntFlag {
		return
	}
	for seed := range uint64(500) {
		if r := Run(seed, nil); r.Failure != nil {
			fmt.Printf("found: seed %d, %v\n", seed, r.Failure)
			return
		}
	}
	t.Error("all rules hold in 500 seeds")
}
