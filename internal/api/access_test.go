package api

import (
	"log/slog"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/edge/transport"
)

// guarded is a controller whose super user is ANONYMOUS, who has the rig's broker too.
type guarded struct {
	*controlRig
	t      *testing.T // above the rig's
	access *Access
}

func newGuarded(t *testing.T) guarded {
	q := newControlRig(t)
	access := &Access{View: q, Rules: auth.Rules{SuperUsers: auth.ParseSuperUsers("User:ANONYMOUS")}}
	routes := ControlRoutes(ControlDeps{Controller: q.node, View: q, Self: 2, Static: q.static, Access: access, Log: slog.New(slog.DiscardHandler)})
	routes = append(routes, QuorumRoutes(agreeing{})...)
	routes = append(routes, ConfigRoutes(ConfigJudge{Self: 2, View: q, Static: q.static, Loggers: q.loggers})...)
	routes = append(routes, ClusterRoutes(ClusterDeps{View: q})...)
	q.table = NewTable(OnController, aboutOf(q), access.Guard(routes))
	return guarded{q, t, access}
}

// as asks the controller as somebody.
func (g guarded) as(user string, req kmsg.Request, version int16) kmsg.Response {
	g.t.Helper()
	req.SetVersion(version)
	var got kmsg.Response
	from := transport.Caller{ConnInfo: &transport.ConnInfo{Principal: "User:" + user, ClientHost: "10.0.0.1"}}
	g.table.Call(g.t.Context(), from, req, func(resp kmsg.Response, err error) {
		if err != nil {
			g.t.Error(err)
		}
		got = resp
	})
	g.commit()
	if got == nil {
		g.t.Fatalf("%T got no answer", req)
	}
	return readBack(g.t, got)
}

// topics creates topics with one partition each.
func (g guarded) topics(names ...string) {
	g.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	for _, name := range names {
		req.Topics = append(req.Topics, newTopic(name, 1, 1))
	}
	for _, created := range g.as("ANONYMOUS", req, 7).(*kmsg.CreateTopicsResponse).Topics {
		wantCode(g.t, created.Topic, created.ErrorCode, kerr.None)
	}
}

func (g guarded) allow(user string, op auth.Operation, kind auth.Kind, name string) {
	g.t.Helper()
	req := kmsg.NewPtrCreateACLsRequest()
	req.Creations = []kmsg.CreateACLsRequestCreation{{
		ResourceType: kmsg.ACLResourceType(kind), ResourceName: name, ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral,
		Principal: "User:" + user, Host: "*", Operation: kmsg.ACLOperation(op), PermissionType: kmsg.ACLPermissionTypeAllow,
	}}
	wantCode(g.t, "rule", g.as("ANONYMOUS", req, 3).(*kmsg.CreateACLsResponse).Results[0].ErrorCode, kerr.None)
}

// The operations are those of Apache Kafka's tables: who may do nothing to the cluster is
// refused by every API that is about it.
func TestWhoMayNothingIsRefusedByEveryAPIOfTheCluster(t *testing.T) {
	g := newGuarded(t)
	for _, r := range g.table.Routes() {
		if _, about := clusterOperations[r.Key]; !about {
			continue
		}
		for v := r.Min; v <= r.Max; v++ {
			req := kmsg.RequestForKey(r.Key)
			switch req := req.(type) {
			case *kmsg.CreateACLsRequest:
				req.Creations = make([]kmsg.CreateACLsRequestCreation, 1)
			case *kmsg.DeleteACLsRequest:
				req.Filters = make([]kmsg.DeleteACLsRequestFilter, 1)
			case *kmsg.AlterClientQuotasRequest:
				req.Entries = make([]kmsg.AlterClientQuotasRequestEntry, 1)
			case *kmsg.AlterUserSCRAMCredentialsRequest:
				req.Deletions = make([]kmsg.AlterUserSCRAMCredentialsRequestDeletion, 1)
			}
			noPlace := r.Key == 1 && v < 7 || r.Key == 43 && v < 1
			if resp := g.as("nobody", req, v); !holds(resp, kerr.ClusterAuthorizationFailed) && !noPlace {
				t.Errorf("%T version %d: %+v", req, v, resp)
			}
		}
	}
}

func TestTheClusterIsChangedByWhoMay(t *testing.T) {
	g := newGuarded(t)
	g.allow("op", auth.Alter, auth.Cluster, auth.ClusterName)
	elect := kmsg.NewPtrElectLeadersRequest()
	wantCode(t, "elect", g.as("op", elect, 2).(*kmsg.ElectLeadersResponse).ErrorCode, kerr.None)
	wantCode(t, "register", g.as("op", registerRequest(3), 4).(*kmsg.BrokerRegistrationResponse).ErrorCode, kerr.ClusterAuthorizationFailed)
	g.allow("broker", auth.ClusterAction, auth.Cluster, auth.ClusterName)
	wantCode(t, "register", g.as("broker", registerRequest(3), 4).(*kmsg.BrokerRegistrationResponse).ErrorCode, kerr.None)
}

// Topics are judged one by one; whoever may create in the cluster may create all.
func TestTopicsAreCreatedByWhoMay(t *testing.T) {
	g := newGuarded(t)
	g.allow("a", auth.Create, auth.Topic, "mine")
	create := func(user string) map[string]kmsg.CreateTopicsResponseTopic {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.ValidateOnly = true
		req.Topics = []kmsg.CreateTopicsRequestTopic{newTopic("mine", 2, 1), newTopic("theirs", 1, 1)}
		byName := map[string]kmsg.CreateTopicsResponseTopic{}
		for _, topic := range g.as(user, req, 7).(*kmsg.CreateTopicsResponse).Topics {
			byName[topic.Topic] = topic
		}
		return byName
	}
	got := create("a")
	wantCode(t, "mine", got["mine"].ErrorCode, kerr.None)
	wantCode(t, "settings of mine", got["mine"].ConfigErrorCode, kerr.TopicAuthorizationFailed)
	wantCode(t, "theirs", got["theirs"].ErrorCode, kerr.TopicAuthorizationFailed)
	if got["mine"].NumPartitions != -1 || len(got["mine"].Configs) > 0 {
		t.Errorf("settings are shown: %+v", got["mine"])
	}
	g.allow("a", auth.DescribeConfigs, auth.Topic, "mine")
	if got = create("a"); got["mine"].NumPartitions != 2 || got["mine"].ConfigErrorCode != 0 {
		t.Errorf("settings are hidden: %+v", got["mine"])
	}
	g.allow("b", auth.Create, auth.Cluster, auth.ClusterName)
	wantCode(t, "all", create("b")["theirs"].ErrorCode, kerr.None)
}

// "No DELETE right: 29, also for a name without DESCRIBE, existing or not; by id without
// DESCRIBE the reply omits the name."
func TestTopicsAreDeletedByWhoMay(t *testing.T) {
	g := newGuarded(t)
	g.topics("seen", "hidden", "mine")
	g.allow("a", auth.Describe, auth.Topic, "seen")
	g.allow("a", auth.Delete, auth.Topic, "mine")
	req := kmsg.NewPtrDeleteTopicsRequest()
	for _, name := range []string{"seen", "hidden", "mine"} {
		topic, _ := g.Image().TopicNamed(name)
		req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{TopicID: topic.ID})
	}
	req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{Topic: ptr("none")}, kmsg.DeleteTopicsRequestTopic{TopicID: [16]byte{9}})
	got := map[string]kerr.Code{}
	for _, topic := range g.as("a", req, 6).(*kmsg.DeleteTopicsResponse).Topics {
		got[text(topic.Topic)] = kerr.Code(topic.ErrorCode)
	}
	for name, want := range map[string]kerr.Code{"seen": kerr.TopicAuthorizationFailed, "mine": kerr.None, "none": kerr.TopicAuthorizationFailed} {
		wantCode(t, name, int16(got[name]), want)
	}
	if _, shown := got["hidden"]; shown {
		t.Error("the name of a topic that may not be seen is shown")
	}
}

func TestConfigurationsAreChangedByWhoMay(t *testing.T) {
	g := newGuarded(t)
	g.topics("mine", "theirs")
	g.allow("a", auth.AlterConfigs, auth.Topic, "mine")
	resources := []struct {
		kind kmsg.ConfigResourceType
		name string
		key  string
		want kerr.Code
	}{
		{kmsg.ConfigResourceTypeTopic, "mine", "retention.ms", kerr.None}, {kmsg.ConfigResourceTypeTopic, "theirs", "retention.ms", kerr.TopicAuthorizationFailed},
		{kmsg.ConfigResourceTypeGroupConfig, "g", "consumer.session.timeout.ms", kerr.GroupAuthorizationFailed},
		{kmsg.ConfigResourceTypeBroker, "", "log.cleaner.threads", kerr.ClusterAuthorizationFailed},
	}
	incremental, whole, describe := kmsg.NewPtrIncrementalAlterConfigsRequest(), kmsg.NewPtrAlterConfigsRequest(), kmsg.NewPtrDescribeConfigsRequest()
	for _, r := range resources {
		value := "50000"
		incremental.Resources = append(incremental.Resources, kmsg.IncrementalAlterConfigsRequestResource{ResourceType: r.kind, ResourceName: r.name,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: r.key, Value: &value}}})
		whole.Resources = append(whole.Resources, kmsg.AlterConfigsRequestResource{ResourceType: r.kind, ResourceName: r.name,
			Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: r.key, Value: &value}}})
		describe.Resources = append(describe.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: r.kind, ResourceName: r.name})
	}
	altered, replaced := g.as("a", incremental, 1).(*kmsg.IncrementalAlterConfigsResponse), g.as("a", whole, 2).(*kmsg.AlterConfigsResponse)
	described := g.as("a", describe, 4).(*kmsg.DescribeConfigsResponse)
	for i, r := range resources { // the one that may be comes first in the answers, too
		wantCode(t, "incremental "+r.name, altered.Resources[i].ErrorCode, r.want)
		wantCode(t, "whole "+r.name, replaced.Resources[i].ErrorCode, r.want)
		wantCode(t, "described "+r.name, described.Resources[i].ErrorCode, r.want)
	}
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "mine", Count: 2}}
	wantCode(t, "grow", g.as("a", grow, 3).(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode, kerr.TopicAuthorizationFailed)
}

func TestRulesAreToldAndRemoved(t *testing.T) {
	g := newGuarded(t)
	g.allow("a", auth.Read, auth.Topic, "t")
	g.allow("b", auth.Read, auth.Topic, "t")
	g.allow("a", auth.Alter, auth.Cluster, auth.ClusterName)
	describe := kmsg.NewPtrDescribeACLsRequest()
	describe.ResourceType, describe.ResourcePatternType, describe.Operation, describe.PermissionType = 1, 1, 1, 1
	for v := int16(1); v <= 3; v++ {
		told := g.as("ANONYMOUS", describe, v).(*kmsg.DescribeACLsResponse)
		if told.ErrorCode != 0 || len(told.Resources) != 2 || len(told.Resources[0].ACLs)+len(told.Resources[1].ACLs) != 3 {
			t.Errorf("v%d: told %+v", v, told)
		}
		remove := kmsg.NewPtrDeleteACLsRequest()
		f := kmsg.NewDeleteACLsRequestFilter()
		f.ResourceType, f.ResourceName, f.ResourcePatternType, f.Operation, f.PermissionType = 2, ptr("t"), 3, 1, 1
		remove.Filters = append(remove.Filters, f)
		if v == 3 {
			removed := g.as("ANONYMOUS", remove, v).(*kmsg.DeleteACLsResponse).Results[0]
			if removed.ErrorCode != 0 || len(removed.MatchingACLs) != 2 || g.Image().ACLs().Len() != 1 {
				t.Errorf("removed %+v", removed)
			}
		}
	}
	if bad := g.as("ANONYMOUS", kmsg.NewPtrDescribeACLsRequest(), 3).(*kmsg.DescribeACLsResponse); bad.ErrorCode != int16(kerr.InvalidRequest) {
		t.Errorf("a filter of nothing: %+v", bad)
	}
}
