package api

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
)

func newTopic(name string, partitions int32, replication int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replication
	for i := 0; i < len(configs); i += 2 {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: configs[i], Value: &configs[i+1]})
	}
	return t
}

func (q *controlRig) create(version int16, topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsResponse {
	q.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = topics
	return submit[*kmsg.CreateTopicsResponse](q, version, req)
}

func TestEveryVersionOfEveryControllersAPIAnswers(t *testing.T) {
	q := newControlRig(t)
	for _, r := range q.table.Routes() {
		for v := r.Min; v <= r.Max; v++ {
			req := kmsg.RequestForKey(r.Key)
			req.SetVersion(v)
			var got kmsg.Response
			q.table.Call(context.Background(), transport.Caller{ConnInfo: &transport.ConnInfo{}}, req, func(resp kmsg.Response, err error) { got = resp })
			q.commit()
			if got == nil {
				t.Errorf("%T version %d got no answer", req, v)
				continue
			}
			readBack(t, got)
		}
	}
}

func TestATopicIsAnsweredWithWhatItBecame(t *testing.T) {
	q := newControlRig(t)
	for v := int16(2); v <= 7; v++ {
		resp := q.create(v, newTopic(fmt.Sprint("t", v), -1, -1, "segment.ms", "20000"))
		got := resp.Topics[0]
		wantCode(t, got.Topic, got.ErrorCode, kerr.None)
		if stored, ok := q.Image().TopicNamed(got.Topic); !ok || stored.Partitions.Len() != 3 {
			t.Fatalf("%s was not created", got.Topic)
		} else if v >= 7 && kafka.TopicID(got.TopicID) != stored.ID {
			t.Errorf("v%d: id %v, want %v", v, got.TopicID, stored.ID)
		}
		if v < 5 {
			continue
		}
		if got.NumPartitions != 3 || got.ReplicationFactor != 1 {
			t.Errorf("v%d: %d partitions, factor %d", v, got.NumPartitions, got.ReplicationFactor)
		}
		sources := map[string]string{}
		for _, c := range got.Configs {
			sources[c.Name] = fmt.Sprint(*c.Value, " from ", c.Source)
		}
		for key, want := range map[string]string{
			"segment.ms": "20000 from 1", "retention.ms": "1234567 from 4", "min.insync.replicas": "1 from 3", "cleanup.policy": "delete from 5",
		} {
			if sources[key] != want {
				t.Errorf("v%d: %s is %q, want %q", v, key, sources[key], want)
			}
		}
	}
}

func TestRefusedTopicsKeepTheirPlaceAndLeaveTheGoodOnes(t *testing.T) {
	q := newControlRig(t)
	q.create(7, newTopic("old", 1, 1))
	f := func(topic kmsg.CreateTopicsRequestTopic, code kerr.Code) {
		t.Helper()
		resp := q.create(7, topic, newTopic("good-"+topic.Topic+fmt.Sprint(q.end), 1, 1))
		wantCode(t, topic.Topic, resp.Topics[0].ErrorCode, code)
		wantCode(t, "good", resp.Topics[1].ErrorCode, kerr.None)
		if resp.Topics[0].ErrorMessage == nil || *resp.Topics[0].ErrorMessage == "" {
			t.Errorf("%s: no message", topic.Topic)
		}
		if resp.Topics[0].NumPartitions != -1 {
			t.Errorf("%s: %d partitions", topic.Topic, resp.Topics[0].NumPartitions)
		}
	}
	f(newTopic("old", 1, 1), kerr.TopicAlreadyExists)
	f(newTopic("x", 1, 2), kerr.InvalidReplicationFactor)
	f(newTopic("x", 0, 1), kerr.InvalidPartitions)
	for _, bad := range [][2]string{
		{"cleanup.policy", "compactt"}, {"compression.type", "SNAPPY"}, {"segment.ms", "bad"}, {"no.such.key", "1"},
	} {
		f(newTopic("x", 1, 1, bad[0], bad[1]), kerr.InvalidConfig)
	}
	null := newTopic("x", 1, 1)
	null.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "segment.ms"}}
	f(null, kerr.InvalidConfig)

	// An error of the whole request stands on each topic.
	resp := q.create(7, newTopic("a", 9_000, 1), newTopic("b", 9_000, 1))
	if len(resp.Topics) != 2 || resp.Topics[0].ErrorCode != 44 || resp.Topics[1].ErrorCode != 44 {
		t.Errorf("answered %+v", resp.Topics)
	}
}

func TestTopicsAreDeletedByNameOrID(t *testing.T) {
	q := newControlRig(t)
	for v := int16(1); v <= 6; v++ {
		name := fmt.Sprint("t", v)
		q.create(7, newTopic(name, 1, 1))
		req := kmsg.NewPtrDeleteTopicsRequest()
		if v < 6 {
			req.TopicNames = []string{name, "none"}
		} else {
			stored, _ := q.Image().TopicNamed(name)
			req.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: stored.ID}, {TopicID: [16]byte{9}}}
		}
		resp := submit[*kmsg.DeleteTopicsResponse](q, v, req)
		wantCode(t, name, resp.Topics[0].ErrorCode, kerr.None)
		if resp.Topics[0].Topic == nil || *resp.Topics[0].Topic != name {
			t.Errorf("v%d: answered for %v", v, resp.Topics[0].Topic)
		}
		unknown := kerr.UnknownTopicOrPartition
		if v == 6 {
			unknown = kerr.UnknownTopicId
			if resp.Topics[1].Topic != nil {
				t.Errorf("an unknown id has the name %q", *resp.Topics[1].Topic)
			}
		}
		wantCode(t, "none", resp.Topics[1].ErrorCode, unknown)
		if _, ok := q.Image().TopicNamed(name); ok {
			t.Errorf("%s is still there", name)
		}
	}
}

func TestDisabledDeletionHasACodeThatTheClientKnows(t *testing.T) {
	f := func(version int16, want kerr.Code) {
		t.Helper()
		off := kerr.Errorf(kerr.TopicDeletionDisabled, "off")
		got := refusedDeletions([]controller.TopicRef{{Name: "a"}}, off, version)
		wantCode(t, "deletion", code(got[0].Err), want)
	}
	f(1, kerr.InvalidRequest)
	f(2, kerr.InvalidRequest)
	f(3, kerr.TopicDeletionDisabled)
	f(6, kerr.TopicDeletionDisabled)
}

func TestConfigurationsAreAlteredResourceByResource(t *testing.T) {
	q := newControlRig(t)
	q.create(7, newTopic("a", 1, 1), newTopic("b", 1, 1))
	f := func(key string, op kmsg.IncrementalAlterConfigOp, value string, code kerr.Code) {
		t.Helper()
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{
			{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "a", Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{
				{Name: "retention.bytes", Value: ptr("7")}, {Name: key, Op: op, Value: &value}}},
			{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "b", Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{
				{Name: "retention.bytes", Value: ptr("8")}}},
		}
		resp := submit[*kmsg.IncrementalAlterConfigsResponse](q, 1, req)
		wantCode(t, key, resp.Resources[0].ErrorCode, code)
		wantCode(t, "b", resp.Resources[1].ErrorCode, kerr.None)
		if _, applied := q.Image().Config(image.TopicOf("a")).Get("retention.bytes"); applied != (code == kerr.None) {
			t.Errorf("%s: the resource is changed in part", key)
		}
		if v, _ := q.Image().Config(image.TopicOf("b")).Get("retention.bytes"); v != "8" {
			t.Errorf("%s: the good resource has %q", key, v)
		}
	}
	f("cleanup.policy", kmsg.IncrementalAlterConfigOpSet, "compactt", kerr.InvalidConfig)
	f("compression.type", kmsg.IncrementalAlterConfigOpSet, "SNAPPY", kerr.InvalidConfig)
	f("segment.ms", kmsg.IncrementalAlterConfigOpSet, "bad", kerr.InvalidConfig)
	f("no.such.key", kmsg.IncrementalAlterConfigOpSet, "1", kerr.InvalidConfig)
	f("retention.ms", kmsg.IncrementalAlterConfigOpAppend, "1", kerr.InvalidConfig)
	f("cleanup.policy", kmsg.IncrementalAlterConfigOpAppend, "compact", kerr.None)
	if v, _ := q.Image().Config(image.TopicOf("a")).Get("cleanup.policy"); v != "delete,compact" {
		t.Errorf("cleanup.policy is %q", v)
	}
}

func TestDescribedConfigurationsNameTheirLayers(t *testing.T) {
	q := newControlRig(t)
	q.create(7, newTopic("a", 1, 1, "segment.ms", "20000"))
	describe := func(kind kmsg.ConfigResourceType, name string, synonyms bool, keys ...string) kmsg.DescribeConfigsResponseResource {
		t.Helper()
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.IncludeSynonyms = synonyms
		req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: keys}}
		return submit[*kmsg.DescribeConfigsResponse](q, 4, req).Resources[0]
	}
	got := describe(kmsg.ConfigResourceTypeTopic, "a", false, "segment.ms", "retention.ms")
	if len(got.Configs) != 2 {
		t.Fatalf("%d configs", len(got.Configs))
	}
	for _, c := range got.Configs {
		if len(c.ConfigSynonyms) != 0 {
			t.Errorf("%s has synonyms that nobody asked for", c.Name)
		}
	}
	seg := describe(kmsg.ConfigResourceTypeTopic, "a", true, "segment.ms").Configs[0]
	var layers []kmsg.ConfigSource
	for _, s := range seg.ConfigSynonyms {
		layers = append(layers, s.Source)
	}
	if *seg.Value != "20000" || seg.Source != 1 || !slices.Equal(layers[:1], []kmsg.ConfigSource{1}) {
		t.Errorf("segment.ms is %s from %d, layers %v", *seg.Value, seg.Source, layers)
	}
	wantCode(t, "no topic", describe(kmsg.ConfigResourceTypeTopic, "none", false).ErrorCode, kerr.UnknownTopicOrPartition)
	wantCode(t, "bad name", describe(kmsg.ConfigResourceTypeTopic, "a b", false).ErrorCode, kerr.InvalidTopicException)
	wantCode(t, "other broker", describe(kmsg.ConfigResourceTypeBroker, "3", false).ErrorCode, kerr.InvalidRequest)
	if all := describe(kmsg.ConfigResourceTypeBroker, "2", false); all.ErrorCode != 0 || len(all.Configs) < 100 {
		t.Errorf("own broker: code %d, %d configs", all.ErrorCode, len(all.Configs))
	}
	cluster := describe(kmsg.ConfigResourceTypeBroker, "", false)
	if len(cluster.Configs) != 1 || cluster.Configs[0].Name != "min.insync.replicas" || cluster.Configs[0].Source != 3 {
		t.Errorf("cluster: %+v", cluster.Configs)
	}
}

func TestPartitionsAreAddedAndRefusedTopicByTopic(t *testing.T) {
	q := newControlRig(t)
	q.create(7, newTopic("a", 1, 1))
	for v := int16(0); v <= 3; v++ {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Topics = []kmsg.CreatePartitionsRequestTopic{
			{Topic: "a", Count: int32(v) + 2}, {Topic: "none", Count: 2},
		}
		resp := submit[*kmsg.CreatePartitionsResponse](q, v, req)
		wantCode(t, "a", resp.Topics[0].ErrorCode, kerr.None)
		wantCode(t, "none", resp.Topics[1].ErrorCode, kerr.UnknownTopicOrPartition)
	}
	if q.Image().PartitionCount() != 5 {
		t.Errorf("%d partitions", q.Image().PartitionCount())
	}
}

func TestARegistrationWithoutLogDirectoryIsInvalid(t *testing.T) {
	q := newControlRig(t)
	req := registerRequest(3)
	req.LogDirs = nil
	resp := submit[*kmsg.BrokerRegistrationResponse](q, 4, req)
	wantCode(t, "no directory", resp.ErrorCode, kerr.InvalidRequest) // KIP-858
	if resp.BrokerEpoch != -1 {
		t.Errorf("epoch %d", resp.BrokerEpoch)
	}
}

func TestFeaturesOfOldVersionsAreAnsweredOneByOne(t *testing.T) {
	q := newControlRig(t)
	for v := int16(0); v <= 2; v++ {
		req := kmsg.NewPtrUpdateFeaturesRequest()
		u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		u.Feature, u.MaxVersionLevel, u.UpgradeType = image.GroupVersion, 1, 1
		req.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{u}
		resp := submit[*kmsg.UpdateFeaturesResponse](q, v, req)
		wantCode(t, "group.version", resp.ErrorCode, kerr.InvalidUpdateVersion) // the broker does not have it
		if (len(resp.Results) == 1) != (v < 2) {
			t.Errorf("v%d: %d results", v, len(resp.Results))
		}
	}
}

func TestDirectoriesAreAnsweredInTheRequestsShape(t *testing.T) {
	q := newControlRig(t)
	q.create(7, newTopic("a", 1, 1))
	a, _ := q.Image().TopicNamed("a")
	b, _ := q.Image().Broker(2)
	req := kmsg.NewPtrAssignReplicasToDirsRequest()
	req.BrokerID, req.BrokerEpoch = 2, int64(b.Epoch)
	req.Directories = []kmsg.AssignReplicasToDirsRequestDirectory{{ID: b.Dirs[0], Topics: []kmsg.AssignReplicasToDirsRequestDirectoryTopic{
		{TopicID: [16]byte{9}, Partitions: []kmsg.AssignReplicasToDirsRequestDirectoryTopicPartition{{Partition: 0}}},
		{TopicID: a.ID, Partitions: []kmsg.AssignReplicasToDirsRequestDirectoryTopicPartition{{Partition: 5}, {Partition: 0}}},
	}}}
	resp := submit[*kmsg.AssignReplicasToDirsResponse](q, 0, req)
	topics := resp.Directories[0].Topics
	wantCode(t, "unknown topic", topics[0].Partitions[0].ErrorCode, kerr.UnknownTopicId)
	wantCode(t, "unknown partition", topics[1].Partitions[0].ErrorCode, kerr.UnknownTopicOrPartition)
	wantCode(t, "good", topics[1].Partitions[1].ErrorCode, kerr.None)
	if topics[1].Partitions[0].Partition != 5 || resp.Directories[0].ID != b.Dirs[0] {
		t.Errorf("answered %+v", resp.Directories)
	}
}

func TestWithoutLeadershipEveryAnswerIsNotController(t *testing.T) {
	q := newControlRig(t)
	q.node.Leader(7, 6, q.img)
	if resp := q.create(7, newTopic("a", 1, 1)); resp.Topics[0].ErrorCode != 41 {
		t.Errorf("answered %+v", resp.Topics)
	}
	wantCode(t, "registration", submit[*kmsg.BrokerRegistrationResponse](q, 4, registerRequest(3)).ErrorCode, kerr.NotController)
	wantCode(t, "features", submit[*kmsg.UpdateFeaturesResponse](q, 2, kmsg.NewPtrUpdateFeaturesRequest()).ErrorCode, kerr.NotController)
}
