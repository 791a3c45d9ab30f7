package api

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/metrics"
)

// shown are the lines of a page of metrics that hold a word.
func shown(r *metrics.Registry, word string) []string {
	page := httptest.NewRecorder()
	r.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	var lines []string
	for line := range strings.Lines(page.Body.String()) {
		if strings.Contains(line, word) && !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// Rule: what waits, what waited in vain and what sessions hold shows under
// Kafka's names.
func TestWaitingFetchesAndSessionsShow(t *testing.T) {
	r := newDataRig(t)
	registry := metrics.New()
	r.fetch.metrics.Register(registry)
	f := func(when, word string, want ...string) {
		t.Helper()
		if got, all := strings.Join(shown(registry, word), "\n"), strings.Join(want, "\n"); got != all {
			t.Errorf("%s:\n%s\nwant:\n%s", when, got, all)
		}
	}
	id := r.Topic("t", 2)
	const waiting = `kafka_server_delayedoperationpurgatory_purgatorysize{delayedOperation="`

	req := fetchRequest(from("t", id, 0, 0))
	req.MaxWaitMillis = 600_000
	_, answers := r.startFetch(req, 12)
	f("a fetch waits", "purgatorysize", waiting+`Fetch"} 1`, waiting+`Produce"} 0`)
	r.append("t", 0, lines(batch.Options{}, "value"))
	<-answers
	f("it was answered", "purgatorysize", waiting+`Fetch"} 0`, waiting+`Produce"} 0`)

	req = fetchRequest(from("t", id, 1, 0))
	req.MaxWaitMillis = 1
	r.fetched(req, 12)
	f("the second waited in vain", "delayedfetch",
		`kafka_server_delayedfetchmetrics_expires_total{fetcherType="consumer"} 1`, `kafka_server_delayedfetchmetrics_expires_total{fetcherType="follower"} 0`)

	r.fetched(inSession(fetchRequest(from("t", id, 0, 0, 1, 0)), 0, 0), 12)
	f("a session", "numincremental",
		"kafka_server_fetchsessioncache_numincrementalfetchpartitionscached 2", "kafka_server_fetchsessioncache_numincrementalfetchsessions 1")
}
