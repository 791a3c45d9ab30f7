package api

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
)

func quotaOf(kind, name, key string, value float64) kmsg.AlterClientQuotasRequestEntry {
	return kmsg.AlterClientQuotasRequestEntry{
		Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: kind, Name: &name}},
		Ops:    []kmsg.AlterClientQuotasRequestEntryOp{{Key: key, Value: value}},
	}
}

func TestClientQuotasAreAltered(t *testing.T) {
	q := newControlRig(t)
	for v := int16(0); v <= 1; v++ {
		req := kmsg.NewPtrAlterClientQuotasRequest()
		req.Entries = []kmsg.AlterClientQuotasRequestEntry{
			quotaOf("user", fmt.Sprint("u", v), "producer_byte_rate", 1000), quotaOf("user", "w", "none", 1), quotaOf("ip", "10.0.0.1", "connection_creation_rate", 3),
		}
		resp := submit[*kmsg.AlterClientQuotasResponse](q, v, req)
		for i, want := range []kerr.Code{kerr.None, kerr.InvalidRequest, kerr.None} {
			wantCode(t, *req.Entries[i].Entity[0].Name, resp.Entries[i].ErrorCode, want)
			if got := resp.Entries[i].Entity[0]; got.Type != req.Entries[i].Entity[0].Type || *got.Name != *req.Entries[i].Entity[0].Name {
				t.Errorf("v%d: entry %d answers for %+v", v, i, got)
			}
		}
	}
	if n := q.Image().Quotas().Len(); n != 3 {
		t.Errorf("%d entities have limits", n)
	}
}

// "An ip name must resolve."
func TestAnAddressOfAQuotaMustBeKnown(t *testing.T) {
	q := newControlRig(t)
	lookup := func(_ context.Context, host string) ([]string, error) {
		if host == "known" {
			return []string{"10.0.0.9"}, nil
		}
		return nil, errors.New("no such host")
	}
	req := kmsg.NewPtrAlterClientQuotasRequest()
	req.Entries = []kmsg.AlterClientQuotasRequestEntry{
		quotaOf("ip", "known", "connection_creation_rate", 3), quotaOf("ip", "unknown", "connection_creation_rate", 3),
		quotaOf("user", "unknown", "request_percentage", 3),
	}
	answered := make(chan kmsg.Response, 1)
	c := Context{&transport.Request{Ctx: t.Context(), Conn: &transport.ConnInfo{}}}
	appended := q.LogEnd()
	alterClientQuotas{q.node, lookup}.serve(c, req, func(resp kmsg.Response) { answered <- resp })
	for q.LogEnd() == appended { // appended by another goroutine
		runtime.Gosched()
	}
	q.commit()
	resp := (<-answered).(*kmsg.AlterClientQuotasResponse)
	for i, want := range []kerr.Code{kerr.None, kerr.InvalidRequest, kerr.None} {
		wantCode(t, *req.Entries[i].Entity[0].Name, resp.Entries[i].ErrorCode, want)
	}
}

func TestScramCredentialsAreAltered(t *testing.T) {
	q := newControlRig(t)
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	req.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{Name: "a", Mechanism: 1, Iterations: 4096, Salt: []byte{1}, SaltedPassword: []byte{2}}}
	req.Deletions = []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "b", Mechanism: 2}}
	resp := submit[*kmsg.AlterUserSCRAMCredentialsResponse](q, 0, req)
	wantCode(t, "b", resp.Results[0].ErrorCode, kerr.ResourceNotFound)
	wantCode(t, "a", resp.Results[1].ErrorCode, kerr.None)
	if _, ok := q.Image().Scram().Get(image.ScramKey{Mechanism: 1, User: "a"}); !ok || q.Image().Scram().Len() != 1 {
		t.Errorf("%d credentials are stored", q.Image().Scram().Len())
	}
}

// "Strict for CreateTopics v6+, DeleteTopics v5+, CreatePartitions v3+: 89 and the time
// to wait; older versions: everything executes and the client is throttled."
func TestTheMutationQuotaIsStrictForNewVersions(t *testing.T) {
	q := newControlRig(t)
	quota := kmsg.NewPtrAlterClientQuotasRequest()
	quota.Entries = []kmsg.AlterClientQuotasRequestEntry{quotaOf("client-id", "", "controller_mutation_rate", 0.001)}
	quota.Entries[0].Entity[0].Name = nil // whoever has none of its own
	submit[*kmsg.AlterClientQuotasResponse](q, 1, quota)
	q.create(7, newTopic("a", 2, 1))
	f := func(what string, code int16, throttle int32, want kerr.Code) {
		t.Helper()
		wantCode(t, what, code, want)
		if throttle <= 0 {
			t.Errorf("%s: no time to wait", what)
		}
	}
	created := q.create(6, newTopic("b", 1, 1))
	f("create", created.Topics[0].ErrorCode, created.ThrottleMillis, kerr.ThrottlingQuotaExceeded)
	created = q.create(5, newTopic("b", 1, 1))
	f("create, old", created.Topics[0].ErrorCode, created.ThrottleMillis, kerr.None)
	more := kmsg.NewPtrCreatePartitionsRequest()
	more.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "b", Count: 2}}
	grown := submit[*kmsg.CreatePartitionsResponse](q, 3, more)
	f("grow", grown.Topics[0].ErrorCode, grown.ThrottleMillis, kerr.ThrottlingQuotaExceeded)
	grown = submit[*kmsg.CreatePartitionsResponse](q, 2, more)
	f("grow, old", grown.Topics[0].ErrorCode, grown.ThrottleMillis, kerr.None)
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.TopicNames = []string{"b"}
	deleted := submit[*kmsg.DeleteTopicsResponse](q, 5, remove)
	f("delete", deleted.Topics[0].ErrorCode, deleted.ThrottleMillis, kerr.ThrottlingQuotaExceeded)
	deleted = submit[*kmsg.DeleteTopicsResponse](q, 4, remove)
	f("delete, old", deleted.Topics[0].ErrorCode, deleted.ThrottleMillis, kerr.None)
}
