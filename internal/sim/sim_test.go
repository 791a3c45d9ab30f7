package sim

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	seedsFlag = flag.Int("seeds", 0, "how many seeds to run; 0: 500, fewer with -short or the race detector")
	firstFlag = flag.Uint64("first", 0, "the first seed")
)

// seedCount is how many seeds a run of the tests plays.
func seedCount() int {
	switch {
	case *seedsFlag > 0:
		return *seedsFlag
	case testing.Short() && raceDetector:
		return 8
	case testing.Short(), raceDetector:
		return 40
	}
	return 500
}

// figures sums up many runs.
type figures struct {
	sync.Mutex
	runs, events, epochs, acked, hopeless int
	checks                                Checks
	crashes                               Crashes
	simulated                             time.Duration
	faults                                Faults
	changes                               Changes
	failed                                []Result
}

func (f *figures) add(r Result) {
	f.Lock()
	defer f.Unlock()
	f.runs++
	f.events += r.Events
	f.checks.Add(r.Checks)
	f.crashes.Add(r.Crashes)
	if r.Hopeless {
		f.hopeless++
	}
	f.epochs, f.acked = f.epochs+r.Epochs, f.acked+r.Acked
	f.simulated += r.Simulated
	f.faults.Add(r.Faults)
	f.changes.Asked, f.changes.Done = f.changes.Asked+r.Changes.Asked, f.changes.Done+r.Changes.Done
	if r.Failure != nil {
		f.failed = append(f.failed, r)
	}
}

func (f *figures) String() string {
	hit, all := f.crashes.Hit()
	return fmt.Sprintf(`%d seeds, %.0f simulated seconds, %d events, %d epochs with a leader, %d proposals acknowledged, %d of %d changes of voters done, %d runs without hope
faults: %d of %d kinds hit: %v
rules: %d looked at: %v
crashes at persist points: %d of %d%s`,
		f.runs, f.simulated.Seconds(), f.events, f.epochs, f.acked, f.changes.Done, f.changes.Asked, f.hopeless,
		f.faults.Hit(), faultKinds, f.faults, f.checks.Sum(), f.checks, hit, all, f.crashes.Missing())
}

// play runs seeds on all processors, their plans changed.
func play(first uint64, count int, change func(*Plan)) *figures {
	defer debug.SetGCPercent(debug.SetGCPercent(1600)) // runs make garbage and keep nothing
	f, seeds := &figures{}, make(chan uint64)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := range seeds {
				p := planOf(seed)
				change(&p)
				f.add(RunPlan(p, nil))
			}
		})
	}
	for i := range count {
		seeds <- first + uint64(i)
	}
	close(seeds)
	workers.Wait()
	return f
}

// The rules of the quorum hold after every event of every seed, and a repaired
// quorum agrees.
func TestSeeds(t *testing.T) {
	began := time.Now()
	f := play(*firstFlag, seedCount(), func(*Plan) {})
	took := time.Since(began)
	t.Logf("%v\n%.0f simulated seconds a second", f, f.simulated.Seconds()/took.Seconds())
	if len(f.failed) == 0 {
		enter(t, f.runs, int(f.simulated.Seconds()), f.events, f.checks.Sum(), f.faults.Hit(), seconds(began), *firstFlag, f.crashes.Counts())
	}
	for _, r := range f.failed {
		again := fmt.Sprintf("read it: ottla sim --seed %d --trace", r.Plan.Seed)
		if *lengthFlag > 0 { // another story than the seed's own
			again = fmt.Sprintf("again: go test -run '^TestSeeds$' ./internal/sim -first %d -seeds 1 -length %v", r.Plan.Seed, *lengthFlag)
		}
		t.Errorf("seed %d breaks %v\n  %v\n  %s\n  keep it: a scene that plays it on purpose (scenes_kept.go)",
			r.Plan.Seed, r.Failure, r.Plan, again)
	}
	if f.runs < 200 {
		return
	}
	for kind, hit := range f.faults {
		if hit == 0 {
			t.Errorf("no seed was hit by a fault of the kind %v", Fault(kind))
		}
	}
	if hit, all := f.crashes.Hit(); f.runs >= 1000 && hit < all*3/4 {
		t.Errorf("crashes came at %d of %d persist points", hit, all)
	}
	for rule, times := range f.checks[:Startup] {
		if times == 0 {
			t.Errorf("%v was never looked at", Rule(rule))
		}
	}
	if f.acked == 0 || f.epochs == 0 || f.changes.Done == 0 {
		t.Errorf("nothing happened: %v", f)
	}
}

// Same seed, same hash: twice in a process, alone and beside others.
func TestASeedTellsOneStory(t *testing.T) {
	count := min(seedCount(), 24)
	tell := func(procs int) map[uint64]string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		hashes, all := map[uint64]string{}, make(chan Result, count)
		for seed := range uint64(count) {
			go func() { all <- Run(seed, nil) }() // ends when the seed has been played
		}
		for range count {
			r := <-all
			hashes[r.Plan.Seed] = r.Hash
		}
		return hashes
	}
	alone, together := tell(1), tell(2)
	different := map[string]bool{}
	for seed, hash := range alone {
		if together[seed] != hash {
			t.Errorf("seed %d has the hashes %s and %s", seed, hash, together[seed])
		}
		different[hash] = true
	}
	if len(different) != count {
		t.Errorf("%d seeds have %d hashes", count, len(different))
	}
}

// A run that is read is the run that is not.
func TestReadingAStoryDoesNotChangeIt(t *testing.T) {
	var text strings.Builder
	read, unread := Run(3, &text), Run(3, nil)
	if read.Hash != unread.Hash {
		t.Errorf("hash %s when read, %s when not", read.Hash, unread.Hash)
	}
	for _, want := range []string{"seed 3: ", " is leader", "client proposes", "-- healed", "-- all agree on"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the story does not tell %q", want)
		}
	}
}

// A quorum that has lost a majority of its disks stops safely: it invents nothing.
func TestRuinedQuorumsStop(t *testing.T) {
	began, count := time.Now(), max(seedCount()/5, 8)
	if *scenesFlag > 0 {
		count = *scenesFlag
	}
	f := play(*firstFlag, count, func(p *Plan) { p.Ruined = true })
	t.Logf("%d runs, %d looks at what is left", f.runs, f.checks[Ruin])
	for _, r := range f.failed {
		t.Errorf("seed %d, ruined, breaks %v\n  %v", r.Plan.Seed, r.Failure, r.Plan)
	}
	if f.checks[Ruin] < f.runs*100 || f.acked == 0 {
		t.Errorf("what was left was looked at %d times in %d runs, with %d proposals before", f.checks[Ruin], f.runs, f.acked)
	}
	if !t.Failed() {
		enter(t, "ruined", f.runs, 0, 0, seconds(began))
	}
}
