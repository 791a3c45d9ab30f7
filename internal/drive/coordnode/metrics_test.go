package coordnode

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metrics"
)

// TestMetrics: what was done shows.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		registry := metrics.New()
		r.n.Register(registry)
		r.lead(1)
		r.wantErr(commitOf("g", 1), kerr.None)
		r.wantErr(commitOf("h", 1), kerr.None)
		page := httptest.NewRecorder()
		registry.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
		for _, want := range []string{
			"kafka_server_group_coordinator_metrics_num_partitions{state=\"active\"} 1",
			"kafka_server_group_coordinator_metrics_num_partitions{state=\"loading\"} 0",
			"kafka_server_group_coordinator_metrics_classic_group_count{state=\"Empty\"} 2",
			"kafka_coordinator_group_groupmetadatamanager_numgroups 2",
			"kafka_coordinator_group_groupmetadatamanager_numoffsets 2",
			"kafka_server_group_coordinator_metrics_offset_commit_count 2",
			"kafka_server_group_coordinator_metrics_batch_flush_count 2",
		} {
			if !strings.Contains(page.Body.String(), "\n"+want+"\n") {
				t.Errorf("%q is not on the page", want)
			}
		}
	})
}
