package sim

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/core/raft"
)

var scenesFlag = flag.Int("scenes", 0, "how many seeds of each scene; 0: 25, fewer with -short or the race detector")

func sceneSeeds() int {
	switch {
	case *scenesFlag > 0:
		return *scenesFlag
	case testing.Short(), raceDetector:
		return 2
	}
	return 25
}

// shownSeeds bounds how many of the seeds that break are told one by one.
const shownSeeds = 10

// playScene plays seeds of a scene on all processors, and says how many of them break.
func playScene(t *testing.T, sc Scene, count int) []Told {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(1600)) // runs make garbage and keep nothing
	all, seeds := make([]Told, count), make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range seeds {
				all[i] = PlayScene(sc, uint64(i), nil)
			}
		})
	}
	for i := range count {
		seeds <- i
	}
	close(seeds)
	workers.Wait()
	broke := 0
	for i, told := range all {
		if told.Failure == nil {
			continue
		}
		if broke++; broke <= shownSeeds {
			t.Errorf("seed %d: %v\n  read it: ottla sim --scene %s --seed %d --trace", i, told.Failure, sc.Name, i)
		}
	}
	if broke > 0 {
		t.Errorf("%d of %d seeds of %s break", broke, count, sc.Name)
	}
	return all
}

// What each event costs in epochs, and the statements of docs/kip-996.md.
func TestScenesCostTheirEpochs(t *testing.T) {
	for _, sc := range Scenes() {
		t.Run(sc.Name, func(t *testing.T) {
			began := time.Now()
			all := playScene(t, sc, sceneSeeds())
			least, most := all[0].Epochs, all[0].Epochs
			var more []string
			for i, told := range all {
				least, most = min(least, told.Epochs), max(most, told.Epochs)
				if told.Epochs > sc.Least && sc.Mostly {
					more = append(more, fmt.Sprintf("%d (%d)", i, told.Epochs))
				}
			}
			t.Logf("%d seeds, epochs: %d to %d; %s", len(all), least, most, sc.What)
			if sc.Mostly {
				t.Logf("%d of %d cost %d epochs; more: %v", len(all)-len(more), len(all), sc.Least, more)
			}
			if len(more)*100 > len(all) && len(more) > 1 {
				t.Errorf("more than one of a hundred costs more than %d epochs: %v", sc.Least, more)
			}
			if !t.Failed() {
				enter(t, sc.Name, len(all), least, most, seconds(began), strings.Join(more, " "))
			}
		})
	}
}

// P4: the example heals in all orders of its seven links.
func TestP4InAllOrdersOfLinks(t *testing.T) {
	count := 5040
	if sceneSeeds() < 1000 {
		count = sceneSeeds() // a sample; make scenes plays all
	}
	i := slices.IndexFunc(Scenes(), func(sc Scene) bool { return sc.Name == "P4-example" })
	began := time.Now()
	playScene(t, Scenes()[i], count)
	t.Logf("%d orders", count)
	if !t.Failed() {
		enter(t, "P4", count, 0, 0, seconds(began))
	}
}

// P9: at both levels of kraft.version, which are static voters and dynamic ones.
// Nothing here has a metadata.version: the core does not know it, so nothing but the
// version of Vote decides. That this is so at 3.9-IV0 and at 4.4-IV2 is shown by the
// two rows of TestEventsCostTheirEpochs, in internal/itest/processes/networks, that
// are named for them.
func TestP9AtBothLevels(t *testing.T) {
	began := time.Now()
	for _, dynamic := range []bool{false, true} {
		sc := cutOffScenes()[0]
		sc.Dynamic = dynamic
		playScene(t, sc, sceneSeeds())
	}
	if !t.Failed() {
		enter(t, "P9", sceneSeeds(), 0, 0, seconds(began))
	}
}

// P10: mixed quorums have at most one leader in an epoch (R1 holds after every
// event), and are not without one for longer than F more than the worse of all
// old and all new ones.
func TestP10MixedQuorums(t *testing.T) {
	began := time.Now()
	var median, worst [6]time.Duration
	for i, m := range Mixes() {
		var gaps []time.Duration
		for _, told := range playScene(t, m.Scene(), sceneSeeds()) {
			gaps = append(gaps, told.Measure)
		}
		slices.Sort(gaps)
		median[i], worst[i] = gaps[len(gaps)/2], gaps[len(gaps)-1]
		t.Logf("%-24s %d seeds, without a leader: median %v, worst %v", m.Name, len(gaps), median[i], worst[i])
	}
	for i, m := range Mixes()[2:] {
		limit := raft.DefaultTiming().Fetch
		if over := median[i+2] - max(median[0], median[1]); over > limit {
			t.Errorf("%s: the median is %v more than of all old and all new", m.Name, over)
		}
		if over := worst[i+2] - max(worst[0], worst[1]); over > limit && sceneSeeds() >= 1000 {
			t.Errorf("%s: the worst is %v more than of all old and all new", m.Name, over)
		}
	}
	if !t.Failed() {
		enter(t, "P10", sceneSeeds(), 0, 0, seconds(began))
	}
}

// The simulator's own rules, R1 and R3, see a vote that is given twice after the file of
// the first one was lost, without the help of the protocol (package abstract).
func TestLostVotesAreGivenOnce(t *testing.T) {
	for _, sc := range forgetfulScenes() {
		sc.Prepare = func(s *Stage) { s.w.plan.Alone = true }
		playScene(t, sc, sceneSeeds())
	}
}

// A scene is a story, too: one for each seed.
func TestASceneTellsOneStory(t *testing.T) {
	var text strings.Builder
	read, unread := PlayScene(Scenes()[0], 3, &text), PlayScene(Scenes()[0], 3, nil)
	if read.Hash != unread.Hash {
		t.Errorf("hash %s when read, %s when not", read.Hash, unread.Hash)
	}
	if !strings.Contains(text.String(), "-- scene P1-links-3") {
		t.Errorf("the story does not name its scene:\n%s", text.String()[:200])
	}
}
