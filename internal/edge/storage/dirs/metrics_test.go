package dirs

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Rule: a failed directory shows at once, what the others hold goes on to show,
// and every sync is timed.
func TestFailedDirectoriesShow(t *testing.T) {
	n := formatted(t)
	n.fault.Inject(vfs.Rule{Ops: vfs.OpAny, Path: "/d2", Err: vfs.ErrIO})
	n.start()
	registry := metrics.New()
	n.Register(registry)
	l := n.create("a", 0, ids[0])
	n.append(l, "1")
	_, err := l.Sync()
	must(t, err)

	page := httptest.NewRecorder()
	registry.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		"kafka_log_logmanager_offlinelogdirectorycount 1",
		`kafka_log_logmanager_logdirectoryoffline{logDirectory="/d1"} 0`,
		`kafka_log_logmanager_logdirectoryoffline{logDirectory="/d2"} 1`,
		`ottla_log_directory_usable_bytes{logDirectory="/d2"} -1`,
		`ottla_log_directory_logs{logDirectory="/d1"} 1`,
		"kafka_log_logflushstats_logflushrateandtimems_count 1",
		"kafka_log_logcleanermanager_time_since_last_run_ms -1",
	} {
		if !strings.Contains(page.Body.String(), "\n"+want+"\n") {
			t.Errorf("%q is not on the page", want)
		}
	}
}
