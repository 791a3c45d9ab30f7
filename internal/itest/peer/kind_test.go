package peer

import (
	"strings"
	"testing"
)

// A cluster is formatted without each feature that we do not serve and that it would
// have at its release; a tool does not know those that came later.
func TestClustersAreFormattedWithoutWhatWeDoNotServe(t *testing.T) {
	f := func(release, want string) {
		t.Helper()
		if got := strings.Join(without(release), " "); got != want {
			t.Errorf("%s: %q, not %q", release, got, want)
		}
	}
	f(Kafka39.Release(), "")
	f(Kafka40.Release(), "--feature group.version=0 --feature transaction.version=0")
	f(Kafka41.Release(), "--feature group.version=0 --feature transaction.version=0")
	f(Kafka43.Release(), "--feature group.version=0 --feature transaction.version=0 --feature share.version=0 --feature streams.version=0")
	if Ottla.Release() != Kafka.Release() {
		t.Errorf("we format for %s, the newest Apache Kafka for %s", Ottla.Release(), Kafka.Release())
	}
}
