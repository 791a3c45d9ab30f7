package partitions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metrics"
)

func told(a *traffics, of func(*Traffic) *metrics.Count) string {
	var list []string
	a.report(of, func(v float64, labels ...string) {
		list = append(list, fmt.Sprintf("%s=%g", strings.Join(labels, ","), v))
	})
	slices.Sort(list)
	return strings.Join(list, " ")
}

// Rule: a broker's totals never fall, not even when a topic's last replica goes
// and when a topic of the name comes back.
func TestTotalsOnlyGrow(t *testing.T) {
	var a traffics
	messages := func(t *Traffic) *metrics.Count { return &t.messagesIn }
	f := func(when, want string) {
		t.Helper()
		if got := told(&a, messages); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	first, second := a.enter("t"), a.enter("t")
	a.enter("u").appended(1, 10)
	first.appended(2, 20)
	second.appended(3, 30)
	f("replicas share", "=6 t=5 u=1")
	a.leave("t")
	f("one left", "=6 t=5 u=1")
	a.leave("t")
	f("both left", "=6 u=1")
	a.enter("t").appended(4, 40)
	f("it came back", "=10 t=4 u=1")
}

// Rule: as in Kafka, what clients live with is no failed request; batches that
// are too large count in bytes.
func TestFailuresAreUnexpectedErrors(t *testing.T) {
	var c Traffic
	for _, err := range []error{nil, kerr.NotLeaderOrFollower, kerr.MessageTooLarge, kerr.InvalidRecord} {
		c.Produced(100, err)
	}
	if got := fmt.Sprintf("%g %g %g", c.produces.Value(), c.failedProduces.Value(), c.bytesRejected.Value()); got != "4 1 100" {
		t.Errorf("produce: %s", got)
	}
	follower := Reader{Follower: 2}
	c.Fetched(Consumer, 7, nil)
	c.Fetched(follower, 5, nil)
	c.Fetched(Consumer, 0, kerr.OffsetOutOfRange)
	c.Fetched(Consumer, 0, kerr.UnknownServerError)
	if got := fmt.Sprintf("%g %g %g %g", c.fetches.Value(), c.failedFetches.Value(), c.bytesOut.Value(), c.replicationBytesOut.Value()); got != "4 1 7 5" {
		t.Errorf("fetch: %s", got)
	}
	if Consumer.Follower != kafka.NoNode {
		t.Error("a consumer is no follower")
	}
}
