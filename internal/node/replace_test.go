package node

import (
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/edge/storage/dirs"
)

// What lay in a directory that is offline is known by its id, or by that of no other.
func TestWhatIsRecordedInADirectoryThatIsOffline(t *testing.T) {
	one, two, other := kafka.DirID{1}, kafka.DirID{2}, kafka.DirID{9}
	known := func(id kafka.DirID) bool { return id == one || id == two }
	f := func(all []dirs.Absent, in string) {
		t.Helper()
		recorded, err := recordedIn(all[0], all, known)
		if err != nil {
			if in != "" || !strings.Contains(err.Error(), all[1].Path) {
				t.Errorf("%v, want %q", err, in)
			}
			return
		}
		got := ""
		for i, id := range []kafka.DirID{one, two, other, kafka.DirLost, kafka.DirUnassigned, kafka.DirMigrating} {
			if recorded(id) {
				got += []string{"one ", "two ", "other ", "lost ", "unassigned ", "migrating "}[i]
			}
		}
		if strings.TrimSpace(got) != in {
			t.Errorf("%v: recorded are %q, want %q", all, got, in)
		}
	}
	f([]dirs.Absent{{Path: "/1", ID: one}}, "one lost unassigned migrating")
	f([]dirs.Absent{{Path: "/1", ID: one}, {Path: "/2", ID: two}}, "one")
	f([]dirs.Absent{{Path: "/1", ID: one}, {Path: "/3"}}, "one")
	f([]dirs.Absent{{Path: "/3"}}, "other lost unassigned migrating")
	f([]dirs.Absent{{Path: "/3"}, {Path: "/2", ID: two}}, "other")
	f([]dirs.Absent{{Path: "/3"}, {Path: "/4"}}, "")
}
