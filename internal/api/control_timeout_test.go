package api

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
)

// While the disk of the metadata log stalls nothing is committed. A request is
// answered after its own time, or after a default where it names none.
func TestARequestToTheControllerDoesNotWaitForEver(t *testing.T) {
	f := func(req kmsg.Request, version int16, want time.Duration, answer func(kmsg.Response) int16) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			q := newControlRig(t)
			q.create(7, newTopic("old", 1, 1))
			req.SetVersion(version)
			service, ok := q.table.Find(req.Key(), version)
			if !ok {
				t.Fatalf("%T version %d is not served", req, version)
			}
			answers := make(chan kmsg.Response, 2)
			begun := time.Now()
			service.Handler(&transport.Request{
				Key: req.Key(), Version: version, Body: req, Ctx: t.Context(), Conn: &transport.ConnInfo{Listener: "CONTROLLER"},
			}, func(r transport.Reply) {
				m, _ := r.Message()
				answers <- m
			})
			resp := <-answers
			wantCode(t, kmsg.NameForKey(req.Key()), answer(resp), kerr.RequestTimedOut)
			if took := time.Since(begun); took != want {
				t.Errorf("%T was answered after %v, want %v", req, took, want)
			}
			q.commit()
			if len(answers) != 0 {
				t.Errorf("%T was answered twice", req)
			}
		})
	}
	create := func(timeoutMillis int32) kmsg.Request {
		r := kmsg.NewPtrCreateTopicsRequest()
		r.Topics, r.TimeoutMillis = []kmsg.CreateTopicsRequestTopic{newTopic("a", 1, 1)}, timeoutMillis
		return r
	}
	created := func(r kmsg.Response) int16 { return r.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode }
	f(create(2500), 7, 2500*time.Millisecond, created)
	f(create(0), 7, controlTimeout, created)

	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.TopicNames, remove.TimeoutMillis = []string{"old"}, 700
	f(remove, 5, 700*time.Millisecond, func(r kmsg.Response) int16 { return r.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode })

	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.Topics, grow.TimeoutMillis = []kmsg.CreatePartitionsRequestTopic{{Topic: "old", Count: 2}}, 800
	f(grow, 3, 800*time.Millisecond, func(r kmsg.Response) int16 { return r.(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode })

	value := "7"
	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	alter.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "old",
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "retention.bytes", Value: &value}},
	}}
	f(alter, 1, controlTimeout, func(r kmsg.Response) int16 { return r.(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode })

	f(registerRequest(3), 4, controlTimeout, func(r kmsg.Response) int16 { return r.(*kmsg.BrokerRegistrationResponse).ErrorCode })
}
