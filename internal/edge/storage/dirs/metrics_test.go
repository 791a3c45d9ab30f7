package dirs

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
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
		`kafka_log_logmanager_logdirectorycordoned{logDirectory="/d2"} 0`,
	} {
		if !strings.Contains(page.Body.String(), "\n"+want+"\n") {
			t.Errorf("%q is not on the page", want)
		}
	}
}

// Rule: what the disk of a directory was asked for shows as its own, and what it could
// not do as an error; what it only had to say no to is none.
func TestTheUseOfADiskShows(t *testing.T) {
	n := formatted(t)
	n.start()
	n.Cordon([]string{"/d3"})
	registry := metrics.New()
	n.Register(registry)
	l := n.create("a", 0, ids[0])
	n.append(l, "1")
	_, err := l.Sync()
	must(t, err)
	broken := n.create("b", 0, ids[1])
	n.fault.Inject(vfs.Rule{Ops: vfs.OpWrite, Path: "/d2", Err: vfs.ErrIO})
	b := batch.NewBuilder(batch.Options{})
	b.Add(n.clock.UnixMilli(), nil, []byte("2"))
	if _, err := broken.AppendLeader(b.Build(nil), 1); err == nil {
		t.Fatal("a write to a broken disk went through")
	}

	if got := n.figures.uses["/d1"].write.bytes.Value(); got < 61 {
		t.Errorf("a batch was written, and %g bytes are counted", got)
	}
	page := httptest.NewRecorder()
	registry.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`ottla_log_directory_operation_errors_total{logDirectory="/d1",operation="write"} 0`,
		`ottla_log_directory_operation_errors_total{logDirectory="/d1",operation="name"} 0`,
		`ottla_log_directory_operation_errors_total{logDirectory="/d2",operation="write"} 1`,
		`ottla_log_directory_operation_errors_total{logDirectory="/d3",operation="sync"} 0`,
		`ottla_log_directory_operation_timems_count{logDirectory="/d3",operation="read"} 0`,
		"kafka_log_logmanager_cordonedlogdirectorycount 1",
		`kafka_log_logmanager_logdirectorycordoned{logDirectory="/d3"} 1`,
	} {
		if !strings.Contains(page.Body.String(), "\n"+want+"\n") {
			t.Errorf("%q is not on the page", want)
		}
	}
	if strings.Contains(page.Body.String(), `ottla_log_directory_operation_timems_count{logDirectory="/d1",operation="sync"} 0`) {
		t.Error("no sync was counted")
	}
}
