package node

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/edge/transport"
)

// Rule: a node that answers fetches of records and of the quorum counts the codes
// in both together; a series that is there twice would spoil the whole page.
func TestErrorsOfBothKindsOfFetchAreCountedTogether(t *testing.T) {
	records := &api.ErrorCounts{}
	q, registry := newRequests(records), metrics.New()
	q.Register(registry)
	records.Add(kerr.None)
	records.Add(kerr.OffsetOutOfRange)
	fetch := kmsg.NewPtrFetchRequest()
	q.Answer(&transport.Request{Key: fetch.Key(), Version: 17, Body: fetch}, kmsg.NewPtrFetchResponse())

	page := httptest.NewRecorder()
	registry.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`kafka_network_requestmetrics_errors_total{error="NONE",request="Fetch"} 2`,
		`kafka_network_requestmetrics_errors_total{error="OFFSET_OUT_OF_RANGE",request="Fetch"} 1`,
	} {
		if !strings.Contains(page.Body.String(), want+"\n") {
			t.Errorf("status %d, no %s in\n%.500s", page.Code, want, page.Body)
		}
	}
}
