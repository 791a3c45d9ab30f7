package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// metadataText is a Metadata response as text: one line for the brokers, one
// for each topic and partition.
func metadataText(resp *kmsg.MetadataResponse) string {
	var b strings.Builder
	fmt.Fprintf(&b, "controller %d brokers", resp.ControllerID)
	for _, n := range resp.Brokers {
		rack := "-"
		if n.Rack != nil {
			rack = *n.Rack
		}
		fmt.Fprintf(&b, " %d=%s:%d/%s", n.NodeID, n.Host, n.Port, rack)
	}
	b.WriteString("\n")
	for _, t := range resp.Topics {
		name := "null"
		if t.Topic != nil {
			name = *t.Topic
		}
		fmt.Fprintf(&b, "%s id %x error %d internal %v\n", name, t.TopicID[:1], t.ErrorCode, t.IsInternal)
		for _, p := range t.Partitions {
			fmt.Fprintf(&b, "  %d error %d leader %d epoch %d replicas %v isr %v offline %v\n",
				p.Partition, p.ErrorCode, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR, p.OfflineReplicas)
		}
	}
	return strings.TrimSpace(b.String())
}

func named(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, n := range names {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: &n})
	}
	return req
}

func withIDs(ids ...byte) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	for _, id := range ids {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{TopicID: kafka.UUID{id}})
	}
	return req
}

func TestMetadata(t *testing.T) {
	recs := topicRecords("two", 0x22, []int32{2, 1})
	recs = append(recs, topicRecords("one", 0x11, []int32{3}, []int32{4, 1}, []int32{1, 3})...)
	recs = append(recs, topicRecords(kafka.ConsumerOffsetsTopic, 0x33, []int32{1})...)
	view := towns(t, append(recs, leaderless(0x11, 0))...)
	table := tableOf(view, nil)
	f := func(rule string, req *kmsg.MetadataRequest, version int16, listener, want string) {
		t.Helper()
		got := metadataText(ask[*kmsg.MetadataResponse](t, table, listener, req, version))
		if want = strings.ReplaceAll(want, "\t", ""); got != want {
			t.Errorf("%s\n got:\n%s\nwant:\n%s", rule, got, want)
		}
	}
	const outside = "controller 2 brokers 1=outer:9201/rack-b 2=outer:9202/rack-c\n"

	f("brokers are those unfenced with the listener of the request", named(), 12, "PLAINTEXT", strings.TrimSpace(outside))
	f("the controller is ourselves where we can be reached", named(), 12, "INSIDE",
		"controller 2 brokers 1=inner:9101/rack-b 2=inner:9102/rack-c 4=inner:9104/rack-e")
	f("no broker has the listener", named(), 12, "NOWHERE", "controller -1 brokers")

	f("a topic whose replicas are all there", named("two"), 12, "PLAINTEXT", outside+
		`two id 22 error 0 internal false
		  0 error 0 leader 2 epoch 7 replicas [2 1] isr [2 1] offline []`)
	f("one partition without a leader does not spoil the topic", named("one"), 12, "PLAINTEXT", outside+
		`one id 11 error 0 internal false
		  0 error 5 leader -1 epoch 8 replicas [3] isr [] offline [3]
		  1 error 72 leader -1 epoch 7 replicas [4 1] isr [4 1] offline [4]
		  2 error 0 leader 1 epoch 7 replicas [1 3] isr [1 3] offline [3]`)
	f("before v6 a leader without the listener is none", named("one"), 5, "PLAINTEXT",
		`controller 2 brokers 1=outer:9201/rack-b 2=outer:9202/rack-c
		one id 00 error 0 internal false
		  0 error 5 leader -1 epoch -1 replicas [3] isr [] offline [3]
		  1 error 5 leader -1 epoch -1 replicas [4 1] isr [4 1] offline [4]
		  2 error 0 leader 1 epoch -1 replicas [1 3] isr [1 3] offline [3]`)
	f("v0 leaves dead replicas out", named("one"), 0, "PLAINTEXT",
		`controller -1 brokers 1=outer:9201/- 2=outer:9202/-
		one id 00 error 0 internal false
		  0 error 5 leader -1 epoch -1 replicas [] isr [] offline []
		  1 error 5 leader -1 epoch -1 replicas [1] isr [1] offline []
		  2 error 9 leader 1 epoch -1 replicas [1] isr [1] offline []`)

	all := outside + `__consumer_offsets id 33 error 0 internal true
		  0 error 0 leader 1 epoch 7 replicas [1] isr [1] offline []
		one id 11 error 0 internal false
		  0 error 5 leader -1 epoch 8 replicas [3] isr [] offline [3]
		  1 error 72 leader -1 epoch 7 replicas [4 1] isr [4 1] offline [4]
		  2 error 0 leader 1 epoch 7 replicas [1 3] isr [1 3] offline [3]
		two id 22 error 0 internal false
		  0 error 0 leader 2 epoch 7 replicas [2 1] isr [2 1] offline []`
	f("v1 and later: null is all topics", kmsg.NewPtrMetadataRequest(), 12, "PLAINTEXT", all)
	f("v1 and later: an empty list is none", named(), 1, "PLAINTEXT", strings.TrimSpace(outside))

	f("a name no topic has, and one no topic can have", named("three", "a/b", "three"), 12, "PLAINTEXT", outside+
		`three id 00 error 3 internal false
		a/b id 00 error 17 internal false`)
	f("by id", withIDs(0x22, 0x44), 12, "PLAINTEXT", outside+
		`two id 22 error 0 internal false
		  0 error 0 leader 2 epoch 7 replicas [2 1] isr [2 1] offline []
		null id 44 error 100 internal false`)
	for version := int16(10); version <= 11; version++ {
		req := named("two")
		req.Topics[0].TopicID = kafka.UUID{0x22}
		f("a topic id needs v12", req, version, "PLAINTEXT",
			`controller -1 brokers
			two id 22 error 42 internal false`)
	}
}

// v0: "empty list = all topics".
func TestMetadataVersionZeroHasNoWordForNone(t *testing.T) {
	view := towns(t, topicRecords("two", 0x22, []int32{2, 1})...)
	resp := ask[*kmsg.MetadataResponse](t, tableOf(view, nil), "PLAINTEXT", named(), 0)
	if len(resp.Topics) != 1 {
		t.Errorf("%d topics", len(resp.Topics))
	}
}

// wishes gathers what Metadata would have created.
type wishes struct{ names []string }

func (w *wishes) MakeTopics(names []string) { w.names = append(w.names, names...) }

// "With auto-creation ... the broker asks the controller to create the topic in
// the background and still returns UNKNOWN_TOPIC_OR_PARTITION."
func TestMetadataCreatesTopicsOnSight(t *testing.T) {
	view := towns(t, topicRecords("two", 0x22, []int32{2})...)
	f := func(version int16, allow bool, want string) {
		t.Helper()
		var w wishes
		table := tableOf(view, func(d *ClusterDeps) { d.Topics = &w })
		req := named("two", "new", "..", kafka.ConsumerOffsetsTopic)
		req.AllowAutoTopicCreation = allow
		resp := ask[*kmsg.MetadataResponse](t, table, "PLAINTEXT", req, version)
		if got := fmt.Sprint(w.names); got != want {
			t.Errorf("v%d, allowed %v: created %s, want %s", version, allow, got, want)
		}
		if code := resp.Topics[1].ErrorCode; code != int16(kerr.UnknownTopicOrPartition) {
			t.Errorf("v%d: error %d for the topic on its way", version, code)
		}
		if !resp.Topics[3].IsInternal && version >= 1 {
			t.Errorf("v%d: %s is internal", version, kafka.ConsumerOffsetsTopic)
		}
	}
	f(0, false, "[new __consumer_offsets]") // v0-3 imply it
	f(3, false, "[new __consumer_offsets]")
	f(4, false, "[]")
	f(4, true, "[new __consumer_offsets]")
	f(13, true, "[new __consumer_offsets]")
}

// "cluster_authorized_operations only in v8-10; topic_authorized_operations
// v8+. -2147483648 = not requested."
func TestMetadataAuthorizedOperations(t *testing.T) {
	table := tableOf(towns(t, topicRecords("two", 0x22, []int32{2})...), nil)
	f := func(version int16, asked bool, cluster, topic int32) {
		t.Helper()
		req := named("two")
		req.IncludeClusterAuthorizedOperations, req.IncludeTopicAuthorizedOperations = asked, asked
		resp := ask[*kmsg.MetadataResponse](t, table, "PLAINTEXT", req, version)
		if resp.AuthorizedOperations != cluster || resp.Topics[0].AuthorizedOperations != topic {
			t.Errorf("v%d: cluster %d, topic %d", version, resp.AuthorizedOperations, resp.Topics[0].AuthorizedOperations)
		}
	}
	f(8, false, -2147483648, -2147483648)
	f(10, true, 8096, 3576)
	f(12, true, -2147483648, 3576)
}
