package storage

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// "Skip the remaining batches from the first one with a partition leader epoch
// that is higher": they are of a leader that this replica does not follow yet
// (KAFKA-18723).
func TestAFollowerTakesNothingOfALaterLeader(t *testing.T) {
	f := func(epochs string, leader kafka.Epoch, want string) {
		t.Helper()
		var sent []byte
		for i, e := range strings.Fields(epochs) {
			n, _ := strconv.Atoi(e)
			sent = append(sent, records(e, 1, 1, batch.Options{BaseOffset: kafka.Offset(i), LeaderEpoch: kafka.Epoch(n)})...)
		}
		r := newRig(t)
		a, err := r.AppendFollower(sent, leader)
		must(t, err)
		if a.End != r.End() {
			t.Errorf("told %+v of a log that ends at %d", a, r.End())
		}
		r.wants(0, want)
	}
	f("1 2 3", 3, "0=1-0 1=2-0 2=3-0")
	f("1 2 3", 2, "0=1-0 1=2-0")
	f("1 3 1", 2, "0=1-0") // what comes behind it is passed over too
	f("3", 2, "")
	f("-1 2", 2, "0=-1-0 1=2-0") // a batch that names none
}
