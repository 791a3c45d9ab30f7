package dirs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Rule: a new replica lies where the fewest logs are, as in Apache Kafka, unless room is
// scarce there and not elsewhere; what is cordoned comes last.
func TestWhereANewReplicaLies(t *testing.T) {
	// Each directory is its logs, with s where room is scarce and c where it is cordoned.
	f := func(dirs, want string) {
		t.Helper()
		var list []standing
		for _, word := range strings.Fields(dirs) {
			var s standing
			_, err := fmt.Sscan(strings.TrimRight(word, "sc"), &s.logs)
			must(t, err)
			s.scarce, s.cordoned = strings.Contains(word, "s"), strings.Contains(word, "c")
			list = append(list, s)
		}
		slices.SortStableFunc(list, standing.better)
		var got []string
		for _, s := range list {
			word := fmt.Sprint(s.logs)
			if s.scarce {
				word += "s"
			}
			if s.cordoned {
				word += "c"
			}
			got = append(got, word)
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s are tried in the order %s, not %s", dirs, got, want)
		}
	}
	f("3 1 2", "1 2 3")
	f("3 0s 9", "3 9 0s")
	f("3s 1s 2s", "1s 2s 3s")
	f("3 0c 1s", "3 1s 0c")
	f("3sc 0c 1s", "1s 0c 3sc")
	f("0sc 5c", "5c 0sc")
}

func TestWhatRoomIsScarce(t *testing.T) {
	f := func(total, usable int64, want bool) {
		t.Helper()
		if got := isScarce(total, usable); got != want {
			t.Errorf("%d of %d: %v", usable, total, got)
		}
	}
	f(1000, 100, false)
	f(1000, 99, true)
	f(1000, 0, true)
	f(256<<20, 256<<20, false) // a small disk is not a full one
	f(-1, -1, false)
	f(1000, -1, false)
	f(0, 0, false)
}

// Rule: a directory without much room takes no new replicas while another one works,
// those that are named for it it takes, and equal directories share new ones evenly.
func TestADirectoryThatIsNearlyFullTakesNoNewReplicas(t *testing.T) {
	n := formatted(t)
	n.start()
	n.directories()[1].scarce.Store(true)
	held := map[kafka.DirID]int{}
	for i := range kafka.PartitionID(6) {
		_, dir, err := n.Create(tp("new", i), topicID, kafka.DirID{}, testConfig())
		must(t, err)
		held[dir]++
	}
	if held[ids[0]] != 3 || held[ids[1]] != 0 || held[ids[2]] != 3 {
		t.Errorf("new replicas lie in %v", held)
	}
	if _, dir, err := n.Create(tp("named", 0), topicID, ids[1], testConfig()); err != nil || dir != ids[1] {
		t.Errorf("the named directory: in %s, %v", dir, err)
	}
}

// Rule: a look at the free space says whether room is scarce, and so does the start.
func TestALookFindsOutWhatRoomThereIs(t *testing.T) {
	n := formatted(t)
	n.fault.Full("/d2")
	n.start()
	scarce := func(want ...bool) {
		t.Helper()
		for i, dir := range n.directories() {
			if dir.scarce.Load() != want[i] {
				t.Errorf("%s: room is scarce: %v", dir.path, !want[i])
			}
		}
	}
	scarce(false, true, false)
	n.fault.Full("/d3")
	n.lookForSpace(n.directories()[2])
	scarce(false, true, true)
}
