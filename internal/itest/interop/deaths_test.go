package interop

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/itest"
)

// mostKills is how many leaders are killed before one of each kind must have led:
// among survivors of both kinds ours leads in every other epoch, and an epoch more
// now and then is what Apache Kafka's own voters cost.
const mostKills = 8

// Voters of ours and of an Apache Kafka that knows Pre-Vote. The leader's process is
// killed again and again. Survivors of ours have proof of that and ask at once, those
// of Apache Kafka refuse until their own timers end; all the same both kinds come to
// lead, and where one of each is left, one epoch is enough (B3).
func TestBothKindsLeadAfterDeaths(t *testing.T) {
	for _, m := range []struct {
		name   string
		theirs []int // of voters 1, 2 and 3
	}{
		{"one of ours and two of Apache Kafka", []int{2, 3}},
		{"two of ours and one of Apache Kafka", []int{3}},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			q := newMixed(t, itest.KafkaVersion, m.theirs, 3)
			for _, v := range q.voters {
				v.run(t)
			}
			led := map[bool]int{} // how often, by whether it is theirs
			leader := q.awaitSettled()
			led[leader.theirs()]++
			for kills := 0; led[true] == 0 || led[false] == 0; kills++ {
				if kills == mostKills {
					t.Fatalf("after %d kills one kind has never led: %v by whether it is Apache Kafka's", kills, led)
				}
				next, epochs := q.loses(leader)
				if q.mixedWithout(leader) && epochs != 1 {
					t.Errorf("an election between one of each kind took %d epochs", epochs)
				}
				led[next.theirs()]++
				leader.run(t)
				leader = q.awaitSettled()
			}
			q.oneLeaderAnEpoch()
		})
	}
}

// loses kills the leader, and tells who leads next, and how many epochs later.
func (q *mixed) loses(leader *mixedVoter) (next *mixedVoter, epochs int) {
	q.t.Helper()
	before, began := q.highest(), time.Now()
	leader.Kill()
	next = q.awaitLeader(leader)
	epochs = q.highest() - before
	q.t.Logf("voter %d %s was killed in epoch %d; after %v voter %d %s leads, %d epochs later", leader.id, leader.release, before,
		time.Since(began).Round(10*time.Millisecond), next.id, next.release, epochs)
	return next, epochs
}

// mixedWithout tells whether there are voters of both kinds beside one.
func (q *mixed) mixedWithout(v *mixedVoter) bool {
	ours, theirs := false, false
	for _, o := range q.voters {
		if o != v {
			ours, theirs = ours || !o.theirs(), theirs || o.theirs()
		}
	}
	return ours && theirs
}

// awaitSettled waits until all voters have all that the leader has, and gives the
// leader.
func (q *mixed) awaitSettled() *mixedVoter {
	q.t.Helper()
	itest.Eventually(q.t, func() error {
		leader := q.awaitLeader(nil)
		out, err := itest.Run("", exec.Command(itest.Bin(q.t), "metadata-quorum", "describe", "--replication", "--bootstrap-controller", leader.addr))
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return caughtUp(out)
	})
	return q.awaitLeader(nil)
}

// caughtUp tells who of three voters lags, by what the tool prints.
func caughtUp(out string) error {
	there := 0
	for line := range strings.Lines(out) {
		if row := fields(line); len(row) > 3 && (strings.Contains(line, "Follower") || strings.Contains(line, "Leader")) {
			if row[3] != "0" {
				return fmt.Errorf("a voter lags:\n%s", out)
			}
			there++
		}
	}
	if there != 3 {
		return fmt.Errorf("%d voters of 3 are there:\n%s", there, out)
	}
	return nil
}
