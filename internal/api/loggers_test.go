package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
)

// Rule (KIP-412): levels are changed at the node that is asked, be it a broker or a
// controller, at once or not at all; nothing of it is stored.
func TestLevelsOfLoggers(t *testing.T) {
	q := newControlRig(t)
	f := func(table *Table, listener, node string, op kmsg.IncrementalAlterConfigOp, logger, level string, only bool, code kerr.Code, want string) {
		t.Helper()
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.ValidateOnly = only
		c := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: logger, Op: op, Value: ptr(level)}
		if op == kmsg.IncrementalAlterConfigOpDelete {
			c.Value = nil
		}
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
			ResourceType: kmsg.ConfigResourceTypeBrokerLogger, ResourceName: node,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{c},
		}}
		resp := ask[*kmsg.IncrementalAlterConfigsResponse](t, table, listener, req, 1)
		if len(resp.Resources) != 1 {
			t.Fatalf("%d answers", len(resp.Resources))
		}
		wantCode(t, logger+"="+level, resp.Resources[0].ErrorCode, code)
		if got := q.loggers.All()["storage"]; got != want {
			t.Errorf("after %s=%s: the level is %s, want %s", logger, level, got, want)
		}
	}
	to := &toRig{q: q, fail: kerr.RequestTimedOut} // a controller is not needed
	const set, remove = kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete
	for listener, table := range map[string]*Table{"PLAINTEXT": NewTable(OnBroker, aboutOf(q), PassedConfigRoutes(judgeOf(q), to)), "CONTROLLER": q.table} {
		f(table, listener, "2", set, "storage", "DEBUG", true, kerr.None, "INFO")
		f(table, listener, "2", set, "storage", "DEBUG", false, kerr.None, "DEBUG")
		f(table, listener, "2", set, "root", "WARN", false, kerr.None, "DEBUG")
		f(table, listener, "2", remove, "storage", "", false, kerr.None, "WARN")
		f(table, listener, "2", set, "root", "INFO", false, kerr.None, "INFO")
		f(table, listener, "2", remove, "root", "", false, kerr.InvalidRequest, "INFO")
		f(table, listener, "2", set, "storage", "debug", false, kerr.InvalidConfig, "INFO")
		f(table, listener, "2", set, "nobody", "DEBUG", false, kerr.InvalidConfig, "INFO")
		f(table, listener, "2", kmsg.IncrementalAlterConfigOpAppend, "storage", "DEBUG", false, kerr.InvalidRequest, "INFO")
		f(table, listener, "3", set, "storage", "DEBUG", false, kerr.InvalidRequest, "INFO")
		f(table, listener, "", set, "storage", "DEBUG", false, kerr.InvalidRequest, "INFO")
	}
	if n := q.commit(); n != 0 {
		t.Errorf("%d records are stored", n)
	}
}

// Rule: DescribeConfigs tells the levels of loggers, of this node alone.
func TestDescribeLoggers(t *testing.T) {
	q := newControlRig(t)
	q.loggers.Set("storage", "TRACE")
	f := func(node string, keys []string, code kerr.Code, want ...string) {
		t.Helper()
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeBrokerLogger, ResourceName: node, ConfigNames: keys}}
		r := ask[*kmsg.DescribeConfigsResponse](t, q.table, "CONTROLLER", req, 4).Resources[0]
		wantCode(t, node, r.ErrorCode, code)
		if len(r.Configs) != len(want) {
			t.Fatalf("%d loggers of %q, want %d", len(r.Configs), node, len(want))
		}
		for i, c := range r.Configs {
			if got := c.Name + "=" + *c.Value; got != want[i] || c.ReadOnly || c.Source != kmsg.ConfigSourceDynamicBrokerLoggerConfig {
				t.Errorf("%s, read-only %v, source %v; want %s", got, c.ReadOnly, c.Source, want[i])
			}
		}
	}
	f("2", nil, kerr.None, "root=INFO", "storage=TRACE")
	f("2", []string{"storage", "nobody"}, kerr.None, "storage=TRACE")
	f("3", nil, kerr.InvalidRequest)
	f("", nil, kerr.InvalidRequest)
}
