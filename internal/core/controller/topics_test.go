package controller

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
	"pgregory.net/rapid"
)

func auto(name string, partitions int32, replication int16) NewTopic {
	return NewTopic{Name: name, Partitions: partitions, Replication: replication}
}

func manual(name string, parts ...Assignment) NewTopic {
	return NewTopic{Name: name, Partitions: FromSettings, Replication: FromSettings, Assignments: parts}
}

func on(n int, replicas ...int) Assignment {
	a := Assignment{Partition: kafka.PartitionID(n)}
	for _, r := range replicas {
		a.Replicas = append(a.Replicas, kafka.NodeID(r))
	}
	return a
}

func with(t NewTopic, key string, value *string) NewTopic {
	t.Configs = append(t.Configs, ConfigValue{key, value})
	return t
}

func ptr(s string) *string { return &s }

func TestCreateTopicsRefusals(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.topic("old", "1")
	c.topic("a.b", "1")
	f := func(topic NewTopic, code kerr.Code, words ...string) {
		t.Helper()
		for _, dry := range []bool{false, true} {
			d := CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{topic, auto("good", 1, 1)}, ValidateOnly: dry})
			if d.Err != nil || len(d.Reply) != 2 {
				t.Fatalf("%d answers, %v", len(d.Reply), d.Err)
			}
			refused(t, d.Reply[0].Err, code, words...)
			refused(t, d.Reply[1].Err, kerr.None)
			if dry {
				wrote(t, d.Records)
			} else {
				wrote(t, d.Records, "Topic", "Partition") // of the good one
			}
		}
	}
	f(auto("old", 1, 1), kerr.TopicAlreadyExists, `"old"`)
	f(auto("x", 1, 2), kerr.InvalidReplicationFactor, "2", "1")
	f(auto("x", 1, 0), kerr.InvalidReplicationFactor, "0")
	f(auto("x", 1, -2), kerr.InvalidReplicationFactor, "-2")
	f(auto("x", 0, 1), kerr.InvalidPartitions, "0")
	f(auto("x", -2, 1), kerr.InvalidPartitions, "-2")
	f(manual("x", on(0, 1), on(2, 1)), kerr.InvalidReplicaAssignment, "2", "1")
	f(manual("x", on(0, 1), on(0, 1)), kerr.InvalidReplicaAssignment, "partition 0")
	f(manual("x", on(0, 1, 1)), kerr.InvalidReplicaAssignment, "broker 1")
	f(manual("x", on(0, 7)), kerr.InvalidReplicaAssignment, "broker 7")
	f(manual("x", on(0)), kerr.InvalidReplicaAssignment, "empty")
	both := manual("x", on(0, 1))
	both.Partitions, both.Replication = 1, 1
	f(both, kerr.InvalidRequest, "1")
	both.Replication = FromSettings
	f(both, kerr.InvalidRequest, "number of partitions is 1")
	f(auto("..", 1, 1), kerr.InvalidTopicException, "..")
	f(auto("", 1, 1), kerr.InvalidTopicException, "empty")
	f(auto(strings.Repeat("x", 250), 1, 1), kerr.InvalidTopicException, "250")
	f(auto("a b", 1, 1), kerr.InvalidTopicException, "a b")
	f(auto("a_b", 1, 1), kerr.InvalidTopicException, `"a.b"`)
	f(with(auto("x", 1, 1), "no", ptr("1")), kerr.InvalidConfig, "no")
	f(with(auto("x", 1, 1), "size", ptr("bad")), kerr.InvalidConfig, "size", "bad")
	f(with(auto("x", 1, 1), "size", nil), kerr.InvalidConfig, "size")
	f(with(auto("x", 1, 1), "size", ptr(strings.Repeat("9", 32_768))), kerr.InvalidConfig, "32768", "32767")
	f(auto(kafka.MetadataTopic, 1, 1), kerr.InvalidRequest, kafka.MetadataTopic)
}

func TestTheSameNameTwiceIsRefusedOnce(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	d := CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{auto("x", 1, 1), auto("y", 1, 1), auto("x", 2, 1)}})
	if len(d.Reply) != 2 {
		t.Fatalf("%d answers", len(d.Reply))
	}
	refused(t, d.Reply[0].Err, kerr.InvalidRequest, `"x"`, "2")
	refused(t, d.Reply[1].Err, kerr.None)
}

func TestNamesOfOneRequestAreComparedToo(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	d := CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{auto("x.y", 1, 1), auto("x_y", 1, 1)}})
	refused(t, d.Reply[0].Err, kerr.None)
	refused(t, d.Reply[1].Err, kerr.InvalidTopicException, `"x.y"`)
}

func TestARequestMayCreate10000Partitions(t *testing.T) {
	// KAFKA-17870: counted before anything is built.
	c := newCluster(t)
	c.brokers(1)
	f := func(code kerr.Code, topics ...NewTopic) {
		t.Helper()
		refused(t, CreateTopics(c.img, c.soft, TopicsToCreate{Topics: topics}).Err, code, "10000")
	}
	f(kerr.PolicyViolation, auto("x", 10_001, 1))
	f(kerr.PolicyViolation, auto("x", 10_000, 1), auto("y", FromSettings, 1))
	f(kerr.PolicyViolation, auto("x", 1<<30, 1), auto("y", 1<<30, 1))
	f(kerr.PolicyViolation, auto("x", 10_000, 1)) // with its topic record one too many
	refused(t, CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{auto("x", 9_999, 1)}}).Err, kerr.None)
}

func TestATopicTakesTheControllersDefaults(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2, 3)
	c.soft.DefaultPartitions, c.soft.DefaultReplication = 4, 3
	want := TopicsToCreate{Topics: []NewTopic{with(auto("x", FromSettings, FromSettings), "size", ptr("5"))}}
	r := do(c, CreateTopics(c.img, c.soft, want))[0]
	if r.Err != nil || r.Partitions != 4 || r.Replication != 3 || r.Configs["size"] != "5" || r.ID.IsZero() {
		t.Errorf("got %+v", r)
	}
	if topic, _ := c.img.TopicNamed("x"); topic.ID != r.ID || topic.Partitions.Len() != 4 {
		t.Errorf("the image has %v with %d partitions", topic.ID, topic.Partitions.Len())
	}
	if v, _ := c.img.Config(image.TopicOf("x")).Get("size"); v != "5" {
		t.Errorf("size is %q", v)
	}
}

func TestAValidateOnlyRequestAnswersLikeTheRealOne(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	d := CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{with(auto("x", 3, FromSettings), "size", ptr("5"))}, ValidateOnly: true})
	wrote(t, d.Records)
	if r := d.Reply[0]; r.Partitions != 3 || r.Replication != 1 || r.Configs["size"] != "5" {
		t.Errorf("got %+v", r)
	}
}

func TestRecordsOfANewTopic(t *testing.T) {
	c := newCluster(t)
	c.elr()
	c.brokers(1, 2)
	c.fenced(3)
	c.twoDirs(4)
	c.beat(4)
	want := manual("x", on(0, 3, 2, 1, 4))
	d := CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{with(want, minInsyncKey, ptr("2"))}})
	wrote(t, d.Records, "Topic", "Config", "ClearElr", "Partition")
	if !d.Atomic || d.Records[3].Version != 2 {
		t.Errorf("atomic %v, version %d", d.Atomic, d.Records[3].Version)
	}
	do(c, d)
	// The fenced replica is not in sync, and so cannot lead.
	c.expect("x", 0, "leader=2@0 isr=2,1,4")
	if got := c.partition("x", 0).Dirs; !slices.Equal(got, []kafka.DirID{uid(31), uid(21), uid(11), kafka.DirUnassigned}) {
		t.Errorf("directories %v", got)
	}
}

func TestAnAssignmentNeedsOneActiveBrokerAndAnOpenDirectory(t *testing.T) {
	c := newCluster(t)
	c.fenced(1)
	c.brokers(2)
	f := func(topic NewTopic, code kerr.Code, word string) {
		t.Helper()
		d := CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{topic}})
		refused(t, d.Reply[0].Err, code, word)
	}
	f(manual("x", on(0, 1)), kerr.InvalidReplicaAssignment, "fenced")
	f(manual("x", on(0, 1, 2)), kerr.None, "")
	f(manual("x", on(0, 1, 2), on(1, 2)), kerr.InvalidReplicaAssignment, "1 replicas, but others have 2")
	c.beat(2, func(b *Beat) { b.Cordoned = dirs(21) })
	f(manual("x", on(0, 2)), kerr.InvalidReplicaAssignment, "cordoned")
	f(auto("x", 1, 1), kerr.InvalidReplicationFactor, "fenced") // broker 1 alone is left
	f(auto("x", 1, 2), kerr.InvalidReplicationFactor, "only 1 brokers")
}

func TestOldLevelsHaveNoDirectories(t *testing.T) {
	c := &cluster{t: t, img: image.Empty(), soft: NewSoft(settings(), rand.New(rand.NewPCG(1, 2)))}
	do(c, Activate(c.img, c.soft, c.now, Bootstrap(16)))
	none := registration(1, 0)
	none.Features = none.Features[:1]
	do(c, RegisterBroker(c.img, c.soft, c.now, none))
	c.beat(1)
	c.topic("x", "1")
	if got := c.partition("x", 0).Dirs; !slices.Equal(got, []kafka.DirID{kafka.DirMigrating}) {
		t.Errorf("directories %v", got)
	}
}

func TestDeleteTopics(t *testing.T) {
	c := newCluster(t)
	c.brokers(1)
	c.topic("a", "1", "size=1")
	c.topic("b", "1")
	b := c.tp("b", 0).Topic
	d := DeleteTopics(c.img, c.soft, []TopicRef{
		{Name: "a"}, {ID: b}, {Name: "none"}, {ID: uid(999)}, {Name: "a", ID: b}, {}, {Name: "a"},
	}, nil)
	wrote(t, d.Records, "RemoveTopic", "RemoveTopic")
	for i, code := range []kerr.Code{
		kerr.None, kerr.None, kerr.UnknownTopicOrPartition, kerr.UnknownTopicId, kerr.InvalidRequest, kerr.InvalidRequest, kerr.InvalidRequest,
	} {
		refused(t, d.Reply[i].Err, code)
	}
	if d.Reply[1].Name != "b" || d.Reply[0].ID.IsZero() || d.Reply[3].Name != "" {
		t.Errorf("answers %+v", d.Reply)
	}
	do(c, d)
	if c.img.Topics().Len() != 0 || c.img.Config(image.TopicOf("a")).Len() != 0 {
		t.Errorf("%d topics are left", c.img.Topics().Len())
	}
	c.soft.DeleteTopics = false
	refused(t, DeleteTopics(c.img, c.soft, nil, nil).Err, kerr.TopicDeletionDisabled, "delete.topic.enable")
}

func TestCreatePartitions(t *testing.T) {
	c := newCluster(t)
	c.brokers(1, 2)
	c.topic("a", "1,2")
	f := func(code kerr.Code, want MorePartitions, words ...string) {
		t.Helper()
		for _, dry := range []bool{true, false} {
			d := CreatePartitions(c.img, c.soft, PartitionsToCreate{Topics: []MorePartitions{want}, ValidateOnly: dry})
			refused(t, d.Reply[0].Err, code, words...)
			if dry || code != kerr.None {
				wrote(t, d.Records)
			}
		}
	}
	f(kerr.UnknownTopicOrPartition, MorePartitions{Topic: "b", Count: 2}, `"b"`)
	f(kerr.InvalidPartitions, MorePartitions{Topic: "a", Count: 1}, "1")
	f(kerr.InvalidPartitions, MorePartitions{Topic: "a", Count: 0}, "0")
	f(kerr.InvalidReplicaAssignment, MorePartitions{"a", 3, [][]kafka.NodeID{{1, 2}}}, "2", "1")
	f(kerr.InvalidReplicaAssignment, MorePartitions{"a", 2, [][]kafka.NodeID{{1}}}, "1 replicas, but others have 2")
	f(kerr.InvalidReplicaAssignment, MorePartitions{"a", 2, [][]kafka.NodeID{{1, 7}}}, "broker 7")
	f(kerr.None, MorePartitions{"a", 2, [][]kafka.NodeID{{2, 1}}})
	f(kerr.None, MorePartitions{Topic: "a", Count: 5})
	refused(t, CreatePartitions(c.img, c.soft, PartitionsToCreate{Topics: []MorePartitions{{Topic: "a", Count: 10_002}}}).Err,
		kerr.PolicyViolation, "10001", "10000")

	twice := CreatePartitions(c.img, c.soft, PartitionsToCreate{Topics: []MorePartitions{{Topic: "a", Count: 2}, {Topic: "a", Count: 3}}})
	if len(twice.Reply) != 1 {
		t.Errorf("%d answers", len(twice.Reply))
	}
	refused(t, twice.Reply[0].Err, kerr.InvalidRequest, "2 times")

	do(c, CreatePartitions(c.img, c.soft, PartitionsToCreate{Topics: []MorePartitions{{"a", 2, [][]kafka.NodeID{{2, 1}}}}}))
	c.expect("a", 1, "leader=2@0 isr=2,1")
}

func TestPlacement(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newCluster(t)
		brokers := rapid.IntRange(1, 9).Draw(rt, "brokers")
		racks := rapid.IntRange(1, 4).Draw(rt, "racks")
		unfenced := 0
		for n := 1; n <= brokers; n++ {
			r := registration(n, 1)
			if racks > 1 {
				rack := fmt.Sprint("r", n%racks)
				r.Rack = &rack
			}
			do(c, RegisterBroker(c.img, c.soft, c.now, r))
			if rapid.IntRange(0, 3).Draw(rt, "fenced") > 0 {
				c.beat(n)
				unfenced++
			}
		}
		replication := rapid.IntRange(1, brokers).Draw(rt, "replication")
		partitions := rapid.IntRange(1, 40).Draw(rt, "partitions")
		d := CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{auto("x", int32(partitions), int16(replication))}})
		if unfenced == 0 {
			refused(t, d.Reply[0].Err, kerr.InvalidReplicationFactor)
			return
		}
		leads := map[kafka.NodeID]int{}
		for _, r := range d.Records[1:] {
			p := r.Message.(*metarec.PartitionRecord)
			checkPlacement(rt, c, p, replication, min(racks, brokers))
			leads[kafka.NodeID(p.Leader)]++
		}
		if racks == 1 {
			checkEven(rt, leads, unfenced, partitions)
		}
	})
}

func checkPlacement(t *rapid.T, c *cluster, p *metarec.PartitionRecord, replication, racks int) {
	inRack := map[string]int{}
	for i, n := range p.Replicas {
		if slices.Contains(p.Replicas[:i], n) {
			t.Fatalf("replicas %v repeat a broker", p.Replicas)
		}
		if rack := c.broker(int(n)).Rack; rack != nil {
			inRack[*rack]++
		}
	}
	if len(p.Replicas) != replication || !c.broker(int(p.Replicas[0])).Active() || p.Leader != p.Replicas[0] {
		t.Fatalf("replicas %v, leader %d", p.Replicas, p.Leader)
	}
	if racks > 1 && len(inRack) != min(racks, replication) {
		t.Fatalf("replicas %v are in %d of %d racks", p.Replicas, len(inRack), racks)
	}
}

func checkEven(t *rapid.T, leads map[kafka.NodeID]int, unfenced, partitions int) {
	// Each full round gives every broker one leadership.
	rounds := partitions / unfenced
	for n, count := range leads {
		if count < rounds || count > rounds+1 {
			t.Fatalf("broker %d leads %d partitions in %d rounds", n, count, rounds)
		}
	}
}

func BenchmarkCreateTopicsBeside20000Partitions(b *testing.B) {
	c := newCluster(b)
	c.brokers(1, 2, 3)
	for n := range 20 {
		var want TopicsToCreate
		for m := range 100 {
			want.Topics = append(want.Topics, auto(fmt.Sprintf("topic-%d-%d", n, m), 10, 3))
		}
		do(c, CreateTopics(c.img, c.soft, want))
	}
	one := TopicsToCreate{Topics: []NewTopic{auto("new", 10, 3)}}
	b.ReportAllocs()
	for b.Loop() {
		if d := CreateTopics(c.img, c.soft, one); d.Reply[0].Err != nil {
			b.Fatal(d.Reply[0].Err)
		}
	}
}
