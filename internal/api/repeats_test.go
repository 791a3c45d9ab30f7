package api

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
)

// "What describes something is asked for it once, however often a request names
// it."
func TestConfigurationsAreDescribedOnce(t *testing.T) {
	q := newControlRig(t)
	q.create(7, newTopic("a", 1, 1))
	type asked = kmsg.DescribeConfigsRequestResource
	broker := func(name string, keys ...string) asked {
		return asked{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: name, ConfigNames: keys}
	}
	f := func(resources ...asked) []kmsg.DescribeConfigsResponseResource {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Resources = resources
		return submit[*kmsg.DescribeConfigsResponse](q, 4, req).Resources
	}
	if got := f(slices.Repeat([]asked{broker("2")}, 2000)...); len(got) != 1 || len(got[0].Configs) < 100 {
		t.Errorf("%d answers", len(got))
	}
	if got := f(broker("2", "broker.id"), broker("2", "log.dirs")); len(got) != 1 || len(got[0].Configs) != 2 {
		t.Errorf("two questions for one resource: %+v", got)
	}
	if got := f(broker("2", "broker.id"), broker("2")); len(got) != 1 || len(got[0].Configs) < 100 {
		t.Errorf("one question was for all: %d answers", len(got))
	}
	if got := f(broker("2"), broker("02"), broker("+2")); len(got) != 3 || got[1].ErrorCode != int16(kerr.InvalidRequest) || got[2].ErrorCode != int16(kerr.InvalidRequest) {
		t.Error("a broker has several names")
	}
}

// "The one that uses it up still has its answer, those behind it have not."
func TestAnAnswerWithConfigurationsIsBounded(t *testing.T) {
	q := newControlRig(t)
	q.create(7, newTopic("a", 1, 1), newTopic("b", 1, 1))
	static, err := config.New(map[string]string{})
	if err != nil {
		t.Fatal(err)
	}
	h := describeConfigs{view: q, self: 2, static: static, limit: 1}
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, name := range []string{"a", "b"} {
		req.Resources = append(req.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name})
	}
	got := h.serve(Context{}, req).(*kmsg.DescribeConfigsResponse).Resources
	if got[0].ErrorCode != 0 || len(got[0].Configs) == 0 {
		t.Errorf("the first: %d", got[0].ErrorCode)
	}
	wantCode(t, "the second", got[1].ErrorCode, kerr.PolicyViolation)
}

func TestTopicsAreDescribedOnceByID(t *testing.T) {
	view := towns(t, topicRecords("a", 0x11, []int32{1})...)
	resp := ask[*kmsg.MetadataResponse](t, tableOf(view, nil), "PLAINTEXT", withIDs(0x11, 0x11, 0x44, 0x44), 12)
	if len(resp.Topics) != 2 {
		t.Errorf("%d topics", len(resp.Topics))
	}
}

func TestProducersAreDescribedOnce(t *testing.T) {
	r := newDataRig(t)
	r.Topic("t", 1)
	r.append("t", 0, lines(batch.Options{Producer: &batch.Producer{ID: 5, Epoch: 2, Sequence: 0}}, "a"))
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "t", Partitions: []int32{0, 0, 0}}, {Topic: "t", Partitions: []int32{0}}}
	resp := do[*kmsg.DescribeProducersResponse](r, route(0, 0, describeProducers{r.Manager}.serve), req, 0)
	if n := len(resp.Topics[0].Partitions) + len(resp.Topics[1].Partitions); n != 1 {
		t.Errorf("%d answers", n)
	}
}

func TestGroupsAndTheirOffsetsAreToldOnce(t *testing.T) {
	g := newGroupRig(t)
	g.join("g")
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{"g", "none", "g", "g"}
	if got := answer[*kmsg.DescribeGroupsResponse](g, 6, describe).Groups; len(got) != 2 {
		t.Errorf("%d groups", len(got))
	}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Group = "g"
	fetch.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0, 0, 1}}, {Topic: "t", Partitions: []int32{1}}}
	if got := answer[*kmsg.OffsetFetchResponse](g, 7, fetch).Topics; len(got) != 1 || len(got[0].Partitions) != 2 {
		t.Errorf("version 7: %+v", got)
	}
	one := kmsg.NewOffsetFetchRequestGroup()
	one.Group = "g"
	one.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", TopicID: topicT, Partitions: []int32{0, 0, 1}}, {Topic: "t", TopicID: topicT, Partitions: []int32{1}}}
	fetch.Groups = []kmsg.OffsetFetchRequestGroup{one, one}
	for v := int16(8); v <= 10; v++ {
		got := answer[*kmsg.OffsetFetchResponse](g, v, fetch).Groups
		if len(got) != 1 || len(got[0].Topics[0].Partitions) != 2 || len(got[0].Topics[1].Partitions) != 0 {
			t.Errorf("version %d: %+v", v, got)
		}
	}
}

// "tooMany refuses a request before anything is made of it", and "the text
// stands at the first entries alone".
func TestARequestForTooMuchHasAShortAnswer(t *testing.T) {
	q := newControlRig(t)
	const n = controller.MaxRecords + 1
	f := func(what string, size, texts int, first int16) {
		t.Helper()
		wantCode(t, what, first, kerr.PolicyViolation)
		if size != n || texts != maxTexts {
			t.Errorf("%s: %d entries, %d texts", what, size, texts)
		}
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	grow := kmsg.NewPtrCreatePartitionsRequest()
	remove := kmsg.NewPtrDeleteTopicsRequest()
	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	for i := range n {
		name := fmt.Sprint("t", i)
		create.Topics = append(create.Topics, newTopic(name, 0, 1))
		grow.Topics = append(grow.Topics, kmsg.CreatePartitionsRequestTopic{Topic: name})
		remove.TopicNames = append(remove.TopicNames, name)
		alter.Resources = append(alter.Resources, kmsg.IncrementalAlterConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name})
	}
	texts := 0
	count := func(message *string) {
		if message != nil {
			texts++
		}
	}
	created := submit[*kmsg.CreateTopicsResponse](q, 7, create)
	for _, r := range created.Topics {
		count(r.ErrorMessage)
	}
	f("create", len(created.Topics), texts, created.Topics[n-1].ErrorCode)
	texts = 0
	grown := submit[*kmsg.CreatePartitionsResponse](q, 3, grow)
	for _, r := range grown.Topics {
		count(r.ErrorMessage)
	}
	f("grow", len(grown.Topics), texts, grown.Topics[n-1].ErrorCode)
	texts = 0
	removed := submit[*kmsg.DeleteTopicsResponse](q, 5, remove)
	for _, r := range removed.Topics {
		count(r.ErrorMessage)
	}
	f("delete", len(removed.Topics), texts, removed.Topics[n-1].ErrorCode)
	texts = 0
	altered := submit[*kmsg.IncrementalAlterConfigsResponse](q, 1, alter)
	for _, r := range altered.Resources {
		count(r.ErrorMessage)
	}
	f("alter", len(altered.Resources), texts, altered.Resources[n-1].ErrorCode)
}
