package dirs

import (
	"errors"
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
)

// A disk that is missing or new takes its own directory along, and nothing else
// (B10). Nothing is made in its place.
func TestADirectoryThatIsMissingOrEmptyIsOffline(t *testing.T) {
	f := func(absent func(*node)) {
		t.Helper()
		n := formatted(t)
		n.start()
		n.append(n.create("a", 0, ids[1]), "1")
		n.append(n.create("b", 0, ids[2]), "1")
		n.Close(true, 1, n)
		absent(n)
		n.start()
		n.wants("b-0@d3:1/1")
		if n.Online(ids[1]) || !n.AnyOffline() {
			t.Error("d2 should be offline")
		}
		if got := n.OnlineIDs(); !slices.Equal(got, []kafka.DirID{ids[0], ids[2]}) {
			t.Errorf("online are %v", got)
		}
		if info := n.Describe()[1]; !errors.Is(info.Err, ErrUnformatted) {
			t.Errorf("offline for %v", info.Err)
		}
		if n.claimed.PreviousBrokerEpoch() != kafka.NoBrokerEpoch {
			t.Error("a broker that lacks a directory counts as stopped in order")
		}
		if entries, err := n.disk.ReadDir("/d2"); err == nil && len(entries) > 0 {
			t.Errorf("d2 holds %v", entries)
		}
	}
	f(func(n *node) { must(t, n.disk.RemoveAll("/d2")) })
	f(func(n *node) {
		must(t, n.disk.RemoveAll("/d2"))
		must(t, n.disk.Mkdir("/d2", 0o755))
	})
}
