//go:build hunt

package sim

import (
	"flag"
	"fmt"
	"testing"
)

var (
	ruleFlag = flag.String("rule", "", "the rule that has to break, such as R5; all: tell which do")
	// Rare meetings of faults take thousands of seeds; most bugs take ten.
	huntFlag = flag.Uint64("hunt", 3000, "how many seeds are played to find a planted bug")
)

// TestUntilABugIsFound is the simulator's half of TestPlantedBugsAreFound (package
// planted): it runs in the build that holds the bug, which alone has the tag.
func TestUntilABugIsFound(t *testing.T) {
	broken := map[string]int{}
	for seed := range *huntFlag {
		p := NewPlan(seed)
		p.Alone = *ruleFlag != Protocol.String()
		r := RunPlan(p, nil)
		if r.Failure == nil {
			continue
		}
		rule := r.Failure.Rule.String()
		if broken[rule]++; rule == *ruleFlag {
			fmt.Printf("found: seed %d, %v\n", seed, r.Failure)
			return
		}
	}
	t.Errorf("in %d seeds %s never breaks, but %v", *huntFlag, *ruleFlag, broken)
}
