package move

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

var (
	d1, d2, d3 = kafka.DirID{0: 1}, kafka.DirID{0: 2}, kafka.DirID{0: 3}
	named      = map[string]kafka.DirID{"d1": d1, "d2": d2, "d3": d3, "none": kafka.DirUnassigned, "lost": kafka.DirLost}
)

func TestNext(t *testing.T) {
	f := func(facts Facts, want Act) {
		t.Helper()
		facts.Source, facts.Target = d1, d2
		if got := Next(facts); got != want {
			t.Errorf("%+v: %d, want %d", facts, got, want)
		}
	}
	f(Facts{Named: d1}, CatchUp)
	f(Facts{Named: d1, Told: true}, CatchUp)          // fell behind while the controller was told
	f(Facts{Named: d2}, CatchUp)                      // a start finds it so: never switch before it is level
	f(Facts{Named: d1, Level: true}, Tell)            // and not before
	f(Facts{Named: kafka.DirLost, Level: true}, Tell) // whatever metadata says
	f(Facts{Named: d1, Level: true, Told: true, Pending: true}, Await)
	f(Facts{Named: d1, Level: true, Told: true}, Await) // answered; metadata is on its way
	f(Facts{Named: d1, Level: true, Told: true, Since: time.Minute}, Tell)
	f(Facts{Named: d1, Level: true, Told: true, Pending: true, Since: time.Minute}, Await)
	f(Facts{Named: d2, Level: true, Told: true, Pending: true}, Await) // metadata of an older move
	f(Facts{Named: d2, Level: true, Told: true}, Switch)
	f(Facts{Named: d2, Level: true}, Switch) // after a restart
}

func TestAMoveThatEndsEarlyIsTakenBackWhereTheControllerMayKnowOfIt(t *testing.T) {
	f := func(facts Facts, undo, silent bool) {
		t.Helper()
		facts.Source, facts.Target = d1, d2
		if Undo(facts) != undo || Silent(facts) != silent {
			t.Errorf("%+v: undo %v, silent %v", facts, Undo(facts), Silent(facts))
		}
	}
	f(Facts{Named: d1}, false, false)
	f(Facts{Named: kafka.DirUnassigned}, false, false)
	f(Facts{Named: d1, Told: true}, true, true)
	f(Facts{Named: d2}, true, true)
	f(Facts{Named: d2, Told: true}, true, true)
}

// history reads "1@0 3@5 end=9".
func history(text string) (h History) {
	for _, w := range strings.Fields(text) {
		var e Era
		if _, err := fmt.Sscanf(w, "end=%d", &h.End); err == nil {
			continue
		}
		if _, err := fmt.Sscanf(w, "%d@%d", &e.Epoch, &e.Start); err != nil {
			panic(w)
		}
		h.Eras = append(h.Eras, e)
	}
	return h
}

func TestAgreed(t *testing.T) {
	f := func(current, future string, want kafka.Offset) {
		t.Helper()
		if got := Agreed(history(current), history(future)); got != want {
			t.Errorf("%q and %q agree up to %d, want %d", current, future, got, want)
		}
	}
	f("1@0 end=9", "1@0 end=5", 5)
	f("1@0 end=5", "1@0 end=9", 5)
	f("1@0 2@5 end=9", "1@0 end=8", 5) // the current one was cut in epoch 1 and went on in 2
	f("1@0 2@5 end=9", "1@0 2@5 end=9", 9)
	f("1@0 3@5 end=9", "1@0 2@5 end=9", 5) // what the future one has of epoch 2 is gone
	f("1@0 2@4 3@7 end=9", "1@0 3@7 end=8", 8)
	f("2@4 end=9", "1@0 end=3", 0)
	f("4@7 end=9", "1@0 4@7 end=8", 8)
	f("end=0", "1@0 end=3", 0)
	f("1@0 end=3", "end=0", 0)
	f("1@0 2@3 end=3", "1@0 end=3", 3) // epochs without records
	f("1@0 2@3 3@3 end=3", "1@0 2@3 end=7", 3)
}

// TestSettle reads copies as "plain@d1 future@d2:7 foreign@d3".
func TestSettle(t *testing.T) {
	names := []string{"leave", "serve", "promote", "resume", "stray", "discard"}
	f := func(ground, copies, want string) {
		t.Helper()
		var g Ground
		for _, w := range strings.Fields(ground) {
			if w == "offline" {
				g.AnyOffline = true
			} else {
				g.Named = named[w]
			}
		}
		var found []Copy
		for _, w := range strings.Fields(copies) {
			what, at, _ := strings.Cut(w, "@")
			dir, end, _ := strings.Cut(at, ":")
			c := Copy{Dir: named[dir], Future: strings.HasPrefix(what, "future"), Foreign: strings.HasSuffix(what, "foreign")}
			fmt.Sscan(end, &c.End)
			found = append(found, c)
		}
		var got []string
		for _, fate := range Settle(g, found) {
			got = append(got, names[fate])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s: %v, want %s", ground, copies, got, want)
		}
	}
	f("d1", "plain@d1", "serve")
	f("d2", "plain@d1", "serve") // moved by hand: the broker says so
	f("none offline", "plain@d1", "serve")
	f("d1", "plain@d1 future@d2", "serve resume")
	f("d2", "plain@d1 future@d2", "serve resume") // level first, then the switch
	f("d2", "plain@d1 plain@d2", "stray serve")   // a crash between the renames
	f("d1", "plain@d1 plain@d2", "serve stray")
	f("d3", "plain@d1 plain@d2", "leave leave") // nobody guesses
	f("none", "plain@d1 plain@d2", "leave leave")
	f("d3", "plain@d1 plain@d2 future@d3", "leave leave leave")
	f("d2", "future@d2", "promote")
	f("d2 offline", "future@d2", "promote") // the source has failed (KAFKA-16082)
	f("d1 offline", "future@d2", "leave")   // the replica may be in the directory that does not work
	f("d1", "future@d2", "promote")         // its disk was removed: better than an empty replica
	f("d1", "future@d2:5 future@d3:7", "discard promote")
	f("d2", "future@d2:5 future@d3:7", "promote discard")
	f("d1", "plain@d1 future@d2:5 future@d3:7", "serve discard resume")
	f("d2", "plain@d1 future@d2:5 future@d3:7", "serve resume discard")
	f("d1", "plain@d1 future@d1", "serve discard")
	f("d2", "plain@d1 plain@d2 future@d3", "stray serve resume")
	f("d1", "plain-foreign@d1", "stray")
	f("d2", "plain-foreign@d1 future@d2", "stray promote")
	f("d2", "plain@d1 future-foreign@d2", "serve stray")
	f("d1", "", "")
}
