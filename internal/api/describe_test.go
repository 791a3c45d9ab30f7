package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// KIP-919: brokers are told on a broker's listener, controllers on theirs.
func TestDescribeCluster(t *testing.T) {
	view := towns(t)
	deps := ClusterDeps{ClusterID: testCluster, Node: 2, View: view}
	leader := kafka.NodeID(9)
	deps.QuorumLeader = func() kafka.NodeID { return leader }
	f := func(rule string, scope Scope, listener string, version int16, change func(*kmsg.DescribeClusterRequest), want string) {
		t.Helper()
		req := kmsg.NewPtrDescribeClusterRequest()
		change(req)
		resp := ask[*kmsg.DescribeClusterResponse](t, NewTable(scope, aboutOf(view), ClusterRoutes(deps)), listener, req, version)
		got := fmt.Sprintf("error %d controller %d", resp.ErrorCode, resp.ControllerID)
		for _, b := range resp.Brokers {
			got += fmt.Sprintf(" %d=%s:%d/%v", b.NodeID, b.Host, b.Port, b.IsFenced)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", rule, got, want)
		}
		if resp.ErrorCode == 0 && resp.ClusterID != testCluster || (resp.ErrorCode != 0) != (resp.ErrorMessage != nil) {
			t.Errorf("%s: cluster %q, message %v", rule, resp.ClusterID, resp.ErrorMessage)
		}
	}
	nothing := func(*kmsg.DescribeClusterRequest) {}
	of := func(endpoints int8) func(*kmsg.DescribeClusterRequest) {
		return func(r *kmsg.DescribeClusterRequest) { r.EndpointType = endpoints }
	}
	f("v0 knows brokers only", OnBroker, "PLAINTEXT", 0, nothing, "error 0 controller 2 1=outer:9201/false 2=outer:9202/false")
	f("brokers", OnBroker, "PLAINTEXT", 1, of(1), "error 0 controller 2 1=outer:9201/false 2=outer:9202/false")
	f("fenced ones on request", OnBroker, "PLAINTEXT", 2,
		func(r *kmsg.DescribeClusterRequest) { r.IncludeFencedBrokers = true },
		"error 0 controller 2 1=outer:9201/false 2=outer:9202/false 3=outer:9203/true")
	f("controllers", OnController, "CONTROLLER", 1, of(2), "error 0 controller 9 1=quorum:9001/false 9=quorum:9009/false")
	f("controllers from a broker", OnBroker, "PLAINTEXT", 1, of(2), "error 114 controller -1")
	f("brokers from a controller", OnController, "CONTROLLER", 1, of(1), "error 114 controller -1")
	f("v0 cannot ask a controller", OnController, "CONTROLLER", 0, nothing, "error 42 controller -1")
	leader = 7
	f("a leader without registration", OnController, "CONTROLLER", 1, of(2), "error 0 controller -1 1=quorum:9001/false 9=quorum:9009/false")
	view = towns(t, &metarec.FeatureLevelRecord{Name: image.ElrVersion}, &metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: 14})
	deps.View = view
	f("before controllers register", OnController, "CONTROLLER", 1, of(2), "error 35 controller -1")
	f("an unknown type", OnBroker, "PLAINTEXT", 1, of(7), "error 115 controller -1")
}

func topicPartitions(t *testing.T, limit int, cursor string, partition int32, names ...string) string {
	t.Helper()
	recs := topicRecords("b", 0x22, []int32{1}, []int32{2}, []int32{1})
	recs = append(recs, topicRecords("a", 0x11, []int32{2, 1}, []int32{1})...)
	recs = append(recs, topicRecords("c", 0x33, []int32{3})...)
	change := metarec.NewPartitionChangeRecord()
	change.TopicId, change.PartitionId, change.Leader = kafka.UUID{0x33}, 0, -1
	change.Isr, change.EligibleLeaderReplicas, change.LastKnownElr = []int32{}, []int32{3}, []int32{}
	view := towns(t, append(recs, change)...)
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = int32(limit)
	for _, n := range names {
		req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: n})
	}
	if cursor != "" {
		req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: cursor, Partition: partition}
	}
	table := tableOf(view, func(d *ClusterDeps) { d.PartitionLimit = 4 })
	resp := ask[*kmsg.DescribeTopicPartitionsResponse](t, table, "PLAINTEXT", req, 0)
	var b strings.Builder
	for _, topic := range resp.Topics {
		fmt.Fprintf(&b, "%s/%d", *topic.Topic, topic.ErrorCode)
		for _, p := range topic.Partitions {
			fmt.Fprintf(&b, " %d:%d/%d", p.Partition, p.LeaderID, p.ErrorCode)
			if len(p.EligibleLeaderReplicas) > 0 {
				fmt.Fprintf(&b, "elr%v", p.EligibleLeaderReplicas)
			}
		}
		b.WriteString("; ")
	}
	if c := resp.NextCursor; c != nil {
		fmt.Fprintf(&b, "next %s %d", c.Topic, c.Partition)
	}
	return strings.TrimSpace(b.String())
}

// KIP-966: topics come in the order of their names, a page at a time; the page
// is as small as the client or the broker wants it.
func TestDescribeTopicPartitions(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f(topicPartitions(t, 100, "", 0), "a/0 0:2/0 1:1/0; b/0 0:1/0 1:2/0; next b 2") // the broker's 4
	f(topicPartitions(t, 100, "b", 2), "b/0 2:1/0; c/0 0:-1/0elr[3];")
	f(topicPartitions(t, 2, "", 0), "a/0 0:2/0 1:1/0; next b 0")
	f(topicPartitions(t, 0, "", 0), "a/0 0:2/0; next a 1") // at least one
	f(topicPartitions(t, 3, "", 0, "c", "x", "a/b", "a"), "a/0 0:2/0 1:1/0; a/b/17; c/0 0:-1/0elr[3]; next x 0")
	f(topicPartitions(t, 4, "", 0, "c", "x", "a"), "a/0 0:2/0 1:1/0; c/0 0:-1/0elr[3]; x/3;")
	f(topicPartitions(t, 4, "c", 0, "c", "a"), "c/0 0:-1/0elr[3];")
	// "The cursor ... {topic, partition}" must fit what was asked for.
	f(topicPartitions(t, 4, "b", 0, "c", "a"), "c/42; a/42;")
	f(topicPartitions(t, 4, "a", -1, "a"), "a/42;")
}

func TestListPartitionReassignments(t *testing.T) {
	recs := topicRecords("a", 0x11, []int32{1, 2}, []int32{1, 2})
	moving := metarec.NewPartitionRecord()
	moving.TopicId, moving.PartitionId, moving.Leader, moving.LeaderEpoch, moving.PartitionEpoch = kafka.UUID{0x22}, 5, 1, 0, 0
	moving.Replicas, moving.Isr = []int32{1, 2, 4}, []int32{1, 2}
	moving.AddingReplicas, moving.RemovingReplicas = []int32{4}, []int32{2}
	moving.Directories = []kafka.UUID{{9, 1}, {9, 2}, {9, 4}}
	recs = append(recs, &metarec.TopicRecord{Name: "b", TopicId: kafka.UUID{0x22}}, moving)
	view := towns(t, recs...)
	table := NewTable(OnController, aboutOf(view), ClusterRoutes(ClusterDeps{View: view}))
	f := func(topics []kmsg.ListPartitionReassignmentsRequestTopic, want ...kmsg.ListPartitionReassignmentsResponseTopic) {
		t.Helper()
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.Topics = topics
		resp := ask[*kmsg.ListPartitionReassignmentsResponse](t, table, "PLAINTEXT", req, 0)
		if diff := cmp.Diff(want, resp.Topics, noTags); diff != "" {
			t.Error(diff)
		}
	}
	b5 := kmsg.ListPartitionReassignmentsResponseTopic{Topic: "b", Partitions: []kmsg.ListPartitionReassignmentsResponseTopicPartition{
		{Partition: 5, Replicas: []int32{1, 2, 4}, AddingReplicas: []int32{4}, RemovingReplicas: []int32{2}},
	}}
	f(nil, b5)
	f([]kmsg.ListPartitionReassignmentsRequestTopic{{Topic: "b", Partitions: []int32{5}}, {Topic: "a", Partitions: []int32{0}}}, b5)
	// A topic that is named twice is listed once, with what both ask for.
	f([]kmsg.ListPartitionReassignmentsRequestTopic{{Topic: "b", Partitions: []int32{4}}, {Topic: "b", Partitions: []int32{5, 5}}}, b5)
	f([]kmsg.ListPartitionReassignmentsRequestTopic{{Topic: "b", Partitions: []int32{4}}, {Topic: "gone"}})
}

func TestListConfigResources(t *testing.T) {
	recs := append(topicRecords("a", 0x11, []int32{1}),
		&metarec.ConfigRecord{ResourceType: 16, ResourceName: "sub", Name: "interval.ms", Value: ptr("1000")},
		&metarec.ConfigRecord{ResourceType: 32, ResourceName: "group", Name: "consumer.session.timeout.ms", Value: ptr("50000")})
	table := tableOf(towns(t, recs...), nil)
	f := func(version int16, types []int8, code kerr.Code, want string) {
		t.Helper()
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.ResourceTypes = types
		resp := ask[*kmsg.ListConfigResourcesResponse](t, table, "PLAINTEXT", req, version)
		got := ""
		for _, r := range resp.ConfigResources {
			got += fmt.Sprintf("%d/%s ", r.Type, r.Name)
		}
		if got != want || kerr.Code(resp.ErrorCode) != code {
			t.Errorf("v%d %v: error %d, %s", version, types, resp.ErrorCode, got)
		}
	}
	f(0, nil, kerr.None, "16/sub ")
	f(1, nil, kerr.None, "32/group 16/sub 8/1 8/2 8/3 4/1 4/2 4/3 2/a ")
	f(1, []int8{2, 32}, kerr.None, "32/group 2/a ")
	f(1, []int8{2, 99}, kerr.UnsupportedVersion, "")
}
