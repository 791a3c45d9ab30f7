//go:build hunt

package sim

import (
	"fmt"
	"testing"
)

// huntLimit is how many seeds are played to find a planted bug.
const huntLimit = 1000

// TestUntilABugIsFound is the other half of TestPlantedBugsAreFound: it runs in
// the build that holds the bug, which alone has the tag.
func TestUntilABugIsFound(t *testing.T) {
	for seed := range uint64(huntLimit) {
		if r := Run(seed, nil); r.Failure != nil {
			fmt.Printf("found: seed %d, %v\n", seed, r.Failure)
			return
		}
	}
	t.Errorf("all rules hold in %d seeds", huntLimit)
}
