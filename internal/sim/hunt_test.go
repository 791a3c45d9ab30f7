//go:build hunt

package sim

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

var (
	ruleFlag = flag.String("rule", "", "the rule that has to break, such as R5; all: tell which do")
	// Rare meetings of faults take thousands of seeds; most bugs take ten.
	huntFlag   = flag.Uint64("hunt", 3000, "how many seeds are played to find a planted bug")
	shrinkFlag = flag.Int("shrink", 0, "how many stories are played to find a shorter one that it breaks")
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
			if *shrinkFlag > 0 {
				shrunk(t, p, r)
			}
			return
		}
	}
	t.Errorf("in %d seeds %s never breaks, but %v", *huntFlag, *ruleFlag, broken)
}

// shrunk tells how short the story of a seed becomes, and the story.
func shrunk(t *testing.T, p Plan, long Result) {
	t.Helper()
	short, told := Shrink(p, *shrinkFlag)
	if told.Failure == nil || told.Failure.Rule != long.Failure.Rule {
		t.Fatalf("shrunk, it does not break %v: %v", long.Failure.Rule, told.Failure)
	}
	again, err := ParsePlan([]byte(short.Text()))
	if err != nil {
		t.Fatal(err)
	}
	var story strings.Builder
	if r := RunPlan(again, &story); r.Hash != told.Hash {
		t.Errorf("its plan, written and read, tells another story: %s and %s", r.Hash, told.Hash)
	}
	fmt.Printf("shrunk: %d events of %d, %v\n%s\n%s", told.Events, long.Events, told.Failure, short.Text(), story.String())
}
