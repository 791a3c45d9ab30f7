package api

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
)

// "DescribeAcls returns 54 without authorizer": tools and Kafka UIs ask for it
// on every start.
func TestACLsWithoutAuthorizer(t *testing.T) {
	view := towns(t)
	for _, scope := range []Scope{OnBroker, OnController} {
		table := NewTable(scope, aboutOf(view), append(ClusterRoutes(ClusterDeps{View: view}), aclRoutes(nil, view, nil)...))
		for version := int16(1); version <= 3; version++ {
			described := ask[*kmsg.DescribeACLsResponse](t, table, "PLAINTEXT", kmsg.NewPtrDescribeACLsRequest(), version)
			if described.ErrorCode != 54 || *described.ErrorMessage != "No Authorizer is configured on the broker" {
				t.Errorf("describe v%d: %d %v", version, described.ErrorCode, *described.ErrorMessage)
			}
			if scope == OnBroker {
				continue // takes the others to the controller
			}
			create := kmsg.NewPtrCreateACLsRequest()
			create.Creations = make([]kmsg.CreateACLsRequestCreation, 2)
			created := ask[*kmsg.CreateACLsResponse](t, table, "PLAINTEXT", create, version)
			if len(created.Results) != 2 || created.Results[1].ErrorCode != 54 || created.Results[1].ErrorMessage == nil {
				t.Errorf("create v%d: %+v", version, created.Results)
			}
			remove := kmsg.NewPtrDeleteACLsRequest()
			remove.Filters = make([]kmsg.DeleteACLsRequestFilter, 3)
			removed := ask[*kmsg.DeleteACLsResponse](t, table, "PLAINTEXT", remove, version)
			if len(removed.Results) != 3 || removed.Results[2].ErrorCode != 54 || len(removed.Results[2].MatchingACLs) != 0 {
				t.Errorf("delete v%d: %+v", version, removed.Results)
			}
		}
	}
}

// Tokens are "refused on ... PLAINTEXT/1-way-SSL connections (64)".
func TestDelegationTokensNeedALogin(t *testing.T) {
	view := towns(t)
	table := NewTable(OnBroker, aboutOf(view), append(ClusterRoutes(ClusterDeps{View: view}), ForwardRoutes(nil, ConfigJudge{Self: 2, View: view}, nil)...))
	const refused = int16(kerr.DelegationTokenRequestNotAllowed)
	if c := ask[*kmsg.CreateDelegationTokenResponse](t, table, "PLAINTEXT", kmsg.NewPtrCreateDelegationTokenRequest(), 3).ErrorCode; c != refused {
		t.Errorf("create: %d", c)
	}
	if c := ask[*kmsg.RenewDelegationTokenResponse](t, table, "PLAINTEXT", kmsg.NewPtrRenewDelegationTokenRequest(), 2).ErrorCode; c != refused {
		t.Errorf("renew: %d", c)
	}
	if c := ask[*kmsg.ExpireDelegationTokenResponse](t, table, "PLAINTEXT", kmsg.NewPtrExpireDelegationTokenRequest(), 2).ErrorCode; c != refused {
		t.Errorf("expire: %d", c)
	}
	if c := ask[*kmsg.DescribeDelegationTokenResponse](t, table, "PLAINTEXT", kmsg.NewPtrDescribeDelegationTokenRequest(), 3).ErrorCode; c != refused {
		t.Errorf("describe: %d", c)
	}
}

func TestTransactionsAreNone(t *testing.T) {
	table := tableOf(towns(t), nil)
	list := func(version int16, pattern *string, states ...string) *kmsg.ListTransactionsResponse {
		req := kmsg.NewPtrListTransactionsRequest()
		req.StateFilters, req.TransactionalIDPattern = states, pattern
		return ask[*kmsg.ListTransactionsResponse](t, table, "PLAINTEXT", req, version)
	}
	if r := list(1, nil, "Ongoing", "Onging"); r.ErrorCode != 0 || fmt.Sprint(r.UnknownStateFilters) != "[Onging]" || len(r.TransactionStates) != 0 {
		t.Errorf("listed %+v", r)
	}
	if r := list(2, ptr("a(")); r.ErrorCode != int16(kerr.InvalidRegularExpression) {
		t.Errorf("bad pattern: %d", r.ErrorCode)
	}
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{"a", "b"}
	r := ask[*kmsg.DescribeTransactionsResponse](t, table, "PLAINTEXT", req, 0)
	if len(r.TransactionStates) != 2 || r.TransactionStates[1].TransactionalID != "b" || r.TransactionStates[1].ErrorCode != int16(kerr.TransactionalIdNotFound) {
		t.Errorf("described %+v", r.TransactionStates)
	}
}

// What has no route here makes clients fail at once with a clear message.
func TestWhatIsMissingIsNotListed(t *testing.T) {
	table := tableOf(towns(t), nil)
	for key, name := range map[int16]string{
		68: "ConsumerGroupHeartbeat", 69: "ConsumerGroupDescribe", 71: "GetTelemetrySubscriptions", 72: "PushTelemetry",
		76: "ShareGroupHeartbeat", 77: "ShareGroupDescribe", 78: "ShareFetch", 79: "ShareAcknowledge",
		88: "StreamsGroupHeartbeat", 89: "StreamsGroupDescribe",
		24: "AddPartitionsToTxn", 25: "AddOffsetsToTxn", 26: "EndTxn", 27: "WriteTxnMarkers", 28: "TxnOffsetCommit",
		4: "LeaderAndIsr", 5: "StopReplica", 6: "UpdateMetadata", 7: "ControlledShutdown",
	} {
		for version := range int16(10) {
			if _, ok := table.Find(key, version); ok {
				t.Errorf("%s v%d is served", name, version)
			}
		}
	}
}

func TestDescribeScramCredentials(t *testing.T) {
	scram := func(user string, mechanism int8, iterations int32) metarec.Message {
		return &metarec.UserScramCredentialRecord{Name: user, Mechanism: mechanism, Iterations: iterations, Salt: []byte{1}, StoredKey: []byte{2}, ServerKey: []byte{3}}
	}
	table := tableOf(towns(t, scram("bob", 1, 4096), scram("bob", 2, 8192), scram("alice", 2, 16384)), nil)
	f := func(want string, users ...string) {
		t.Helper()
		req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
		for _, u := range users {
			req.Users = append(req.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: u})
		}
		got := ""
		for _, r := range ask[*kmsg.DescribeUserSCRAMCredentialsResponse](t, table, "PLAINTEXT", req, 0).Results {
			got += fmt.Sprintf("%s/%d", r.User, r.ErrorCode)
			for _, i := range r.CredentialInfos {
				got += fmt.Sprintf(" %d:%d", i.Mechanism, i.Iterations)
			}
			got += "; "
		}
		if got != want {
			t.Errorf("%v: got %s, want %s", users, got, want)
		}
	}
	f("alice/0 2:16384; bob/0 1:4096 2:8192; ")
	f("bob/0 1:4096 2:8192; carol/91; ", "bob", "carol")
	f("bob/92; alice/0 2:16384; ", "bob", "bob", "alice")
}

func TestDescribeClientQuotas(t *testing.T) {
	quota := func(value float64, parts ...metarec.ClientQuotaRecordEntityData) metarec.Message {
		return &metarec.ClientQuotaRecord{Entity: parts, Key: "producer_byte_rate", Value: value}
	}
	part := func(kind string, name *string) metarec.ClientQuotaRecordEntityData {
		return metarec.ClientQuotaRecordEntityData{EntityType: kind, EntityName: name}
	}
	table := tableOf(towns(t,
		quota(1, part("user", ptr("bob"))), quota(2, part("user", nil)), quota(3, part("client-id", ptr("app"))),
		quota(4, part("client-id", ptr("app")), part("user", ptr("bob")))), nil)
	type component = kmsg.DescribeClientQuotasRequestComponent
	f := func(want string, strict bool, components ...component) {
		t.Helper()
		req := kmsg.NewPtrDescribeClientQuotasRequest()
		req.Strict, req.Components = strict, components
		resp := ask[*kmsg.DescribeClientQuotasResponse](t, table, "PLAINTEXT", req, 1)
		got := fmt.Sprintf("%d:", resp.ErrorCode)
		for _, e := range resp.Entries {
			got += fmt.Sprintf(" %v", e.Values[0].Value)
		}
		if got != want || (resp.ErrorCode != 0) != (resp.ErrorMessage != nil) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	exact := func(kind, name string) component { return component{EntityType: kind, MatchType: 0, Match: &name} }
	f("0: 3 4 2 1", false)
	f("0: 4 1", false, exact("user", "bob"))
	f("0: 1", true, exact("user", "bob"))
	f("0: 2", true, component{EntityType: "user", MatchType: 1})
	f("0: 4 2 1", false, component{EntityType: "user", MatchType: 2})
	f("0: 4", true, component{EntityType: "user", MatchType: 2}, exact("client-id", "app"))
	f("0:", false, exact("ip", "127.0.0.1"))
	f("42:", false, exact("user", "a"), exact("user", "b"))
	f("42:", false, exact("user", "a"), exact("ip", "b"))
	f("42:", false, component{EntityType: "user", MatchType: 0})
	f("42:", false, component{EntityType: "user", MatchType: 9})
	f("42:", false, component{EntityType: ""})
	f("35:", false, exact("planet", "x"))
}
