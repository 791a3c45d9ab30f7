package api

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
)

// A request that found no controller is refused entry by entry: each is named,
// with the code and the reason.
func TestRefusalsNameEachEntry(t *testing.T) {
	cause := kerr.Errorf(kerr.NotController, "no controller")
	f := func(want string, req kmsg.Request) {
		t.Helper()
		resp := reflect.ValueOf(refusal(req, cause)).Elem()
		list := resp.FieldByName("Topics")
		for _, other := range []string{"Resources", "Results"} {
			if !list.IsValid() {
				list = resp.FieldByName(other)
			}
		}
		got := ""
		for i := range list.Len() {
			e := list.Index(i)
			name := e.FieldByName("Topic")
			for _, other := range []string{"ResourceName", "User"} {
				if !name.IsValid() {
					name = e.FieldByName(other)
				}
			}
			message, _ := e.FieldByName("ErrorMessage").Interface().(*string)
			got += fmt.Sprintf("%v %v %s; ", reflect.Indirect(name), kerr.Code(e.FieldByName("ErrorCode").Int()), text(message))
		}
		if got != want {
			t.Errorf("%T: %q, want %q", req, got, want)
		}
	}
	const refused = "a NOT_CONTROLLER no controller; b NOT_CONTROLLER no controller; "
	a, b := "a", "b"
	f(refused, &kmsg.CreateTopicsRequest{Topics: []kmsg.CreateTopicsRequestTopic{{Topic: a}, {Topic: b}}})
	f(refused, &kmsg.DeleteTopicsRequest{Topics: []kmsg.DeleteTopicsRequestTopic{{Topic: &a}, {Topic: &b}}})
	f(refused, &kmsg.DeleteTopicsRequest{TopicNames: []string{a, b}})
	f(refused, &kmsg.CreatePartitionsRequest{Topics: []kmsg.CreatePartitionsRequestTopic{{Topic: a}, {Topic: b}}})
	f(refused, &kmsg.IncrementalAlterConfigsRequest{Resources: []kmsg.IncrementalAlterConfigsRequestResource{{ResourceName: a}, {ResourceName: b}}})
	f(refused, &kmsg.AlterUserSCRAMCredentialsRequest{
		Deletions:  []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: a}, {Name: b}},
		Upsertions: []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{Name: a}},
	})
	f(refused, &kmsg.AlterConfigsRequest{Resources: []kmsg.AlterConfigsRequestResource{{ResourceName: a}, {ResourceName: b}}})
}

func text(s *string) string {
	if s == nil {
		return "without a reason"
	}
	return *s
}
