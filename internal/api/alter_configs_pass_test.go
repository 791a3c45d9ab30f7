package api

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
)

// toRig forwards to a controller and remembers how many resources came by.
type toRig struct {
	q      *controlRig
	passed int
	fail   error
}

func (f *toRig) Forward(ctx context.Context, from transport.Caller, req kmsg.Request, done func(kmsg.Response, error)) {
	if f.fail != nil {
		done(nil, f.fail)
		return
	}
	switch r := req.(type) {
	case *kmsg.IncrementalAlterConfigsRequest:
		f.passed = len(r.Resources)
	case *kmsg.AlterConfigsRequest:
		f.passed = len(r.Resources)
	}
	f.q.table.Call(ctx, from, req, done)
	f.q.commit()
}

// judgeOf judges as node 2 does.
func judgeOf(q *controlRig) ConfigJudge {
	return ConfigJudge{Self: 2, View: q, Static: q.static, Loggers: q.loggers}
}

func TestABrokerJudgesConfigurationsBeforeItPassesThemOn(t *testing.T) {
	q := newControlRig(t)
	q.create(7, newTopic("a", 1, 1))
	to := &toRig{q: q}
	table := NewTable(OnBroker, aboutOf(q), PassedConfigRoutes(judgeOf(q), to))
	topic, broker := kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker
	set := func(key string, value *string) []kmsg.IncrementalAlterConfigsRequestResourceConfig {
		return []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: key, Value: value}}
	}
	f := func(kind kmsg.ConfigResourceType, name string, configs []kmsg.IncrementalAlterConfigsRequestResourceConfig, code kerr.Code) {
		t.Helper()
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{
			{ResourceType: kind, ResourceName: name, Configs: configs},
			{ResourceType: broker, Configs: set("log.cleaner.threads", ptr("2"))},
		}
		resp := ask[*kmsg.IncrementalAlterConfigsResponse](t, table, "PLAINTEXT", req, 1)
		if len(resp.Resources) != 2 {
			t.Fatalf("%d answers", len(resp.Resources))
		}
		for _, r := range resp.Resources {
			if r.ResourceType == kind && r.ResourceName == name {
				wantCode(t, name, r.ErrorCode, code)
			} else {
				wantCode(t, "the good one", r.ErrorCode, kerr.None)
			}
		}
	}
	f(topic, "a", set("segment.ms", ptr("20000")), kerr.None)
	f(topic, "a", set("segment.ms", nil), kerr.InvalidRequest)
	f(topic, "a", append(set("segment.ms", ptr("1")), set("segment.ms", ptr("2"))...), kerr.InvalidRequest)
	f(topic, "none", set("segment.ms", ptr("20000")), kerr.UnknownTopicOrPartition)
	f(broker, "2", set("log.cleaner.threads", ptr("2")), kerr.None)
	f(broker, "2", set("log.cleaner.threads", ptr("none")), kerr.InvalidRequest)
	f(broker, "2", set("background.threads", ptr("4")), kerr.InvalidRequest)
	f(broker, "2", set("log.dirs", ptr("/x")), kerr.InvalidRequest)
	f(broker, "3", set("log.cleaner.threads", ptr("2")), kerr.InvalidRequest)
	f(kmsg.ConfigResourceTypeBrokerLogger, "2", set("root", ptr("INFO")), kerr.None)

	to.fail = kerr.RequestTimedOut
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: topic, ResourceName: "a"}}
	resp := ask[*kmsg.AlterConfigsResponse](t, table, "PLAINTEXT", req, 2)
	wantCode(t, "no controller", resp.Resources[0].ErrorCode, kerr.RequestTimedOut)
}

func TestWhatTheBrokerRefusesNeverReachesTheController(t *testing.T) {
	to := &toRig{q: newControlRig(t)}
	table := NewTable(OnBroker, aboutOf(to.q), PassedConfigRoutes(judgeOf(to.q), to))
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Resources = []kmsg.AlterConfigsRequestResource{
		{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "a"},
		{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "a"},
		{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "b"},
	}
	resp := ask[*kmsg.AlterConfigsResponse](t, table, "PLAINTEXT", req, 2)
	if to.passed != 1 || len(resp.Resources) != 3 {
		t.Errorf("%d resources went on, %d answers", to.passed, len(resp.Resources))
	}
}

func TestSubscriptionsOfClientMetrics(t *testing.T) {
	f := func(key, value string, code kerr.Code) {
		t.Helper()
		if got := kerr.Of(checkClientMetrics(map[string]string{key: value})); got != code {
			t.Errorf("%s=%s: %v, want %v", key, value, got, code)
		}
	}
	f("interval.ms", "100", kerr.None)
	f("interval.ms", "99", kerr.InvalidConfig)
	f("interval.ms", "x", kerr.InvalidConfig)
	f("metrics", "org.apache.kafka.producer.", kerr.None)
	f("match", "client_id=a.*,client_software_name=x", kerr.None)
	f("match", "", kerr.None)
	f("match", "nobody=a", kerr.InvalidConfig)
	f("match", "client_id", kerr.InvalidConfig)
	f("match", "client_id=(", kerr.InvalidConfig)
	f("other", "1", kerr.InvalidConfig)
}
