package sim

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

var (
	ledgerFlag = flag.String("ledger", "", "append the figures of a run to this file")
	lengthFlag = flag.Duration("length", 0, "how long each run of TestSeeds is, at least, in simulated time; 0: as the seed has it")
)

// enter appends a line of fields to the ledger, if there is one.
func enter(t *testing.T, fields ...any) {
	t.Helper()
	if *ledgerFlag == "" {
		return
	}
	f, err := os.OpenFile(*ledgerFlag, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range fields {
		if i > 0 {
			fmt.Fprint(f, "\t")
		}
		fmt.Fprint(f, x)
	}
	fmt.Fprintln(f)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// planOf is the plan of a seed, as long as it is to be.
func planOf(seed uint64) Plan {
	p := NewPlan(seed)
	if *lengthFlag > 0 {
		p.Chaos = *lengthFlag - proposing - calm
	}
	return p
}

func seconds(since time.Time) int { return int(time.Since(since).Seconds() + 0.5) }

// The names of the scenes, for scripts.
func TestSceneNames(t *testing.T) {
	seen := map[string]bool{}
	for _, sc := range Scenes() {
		t.Logf("scene: %s", sc.Name)
		if seen[sc.Name] {
			t.Errorf("two scenes %s", sc.Name)
		}
		seen[sc.Name] = true
	}
}

// The digests of seeds, for scripts/hashes.sh, which compares those of several
// builds.
func TestPrintHashes(t *testing.T) {
	count := 4
	if *seedsFlag > 0 {
		count = *seedsFlag
	}
	for seed := range uint64(count) {
		r := Run(seed, nil)
		t.Logf("hash: %d %s", seed, r.Hash)
		if len(r.Hash) != 32 {
			t.Errorf("seed %d has no digest of 128 bits", seed)
		}
	}
}
