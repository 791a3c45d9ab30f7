package controller

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// cluster is a controller and its metadata in a test.
type cluster struct {
	t    testing.TB
	img  *image.Image
	soft *Soft
	now  kafka.Instant
}

// keys is a table of two keys, one of them a list.
type keys struct{}

func (keys) Check(_ image.Resource, values map[string]string) error {
	for k, v := range values {
		switch {
		case k != "list" && k != "size" && k != minInsyncKey && k != uncleanElectionKey:
			return kerr.Errorf(kerr.InvalidConfig, "unknown key %s", k)
		case k == "size" && v == "bad":
			return kerr.Errorf(kerr.InvalidConfig, "invalid value bad for size")
		}
	}
	return nil
}

func (keys) Known(t image.ResourceType, key string) bool {
	return t == image.BrokerResource || key == "list" || key == "size" || key == minInsyncKey || key == uncleanElectionKey
}

func (keys) List(_ image.ResourceType, key string) (string, bool) {
	return "a,b", key == "list"
}

func settings() *Settings {
	return &Settings{
		Node: 9, ClusterID: "C", SessionTimeout: 9 * time.Second, AssignmentWait: 30 * time.Second,
		DefaultPartitions: 1, DefaultReplication: 1, MinInsyncReplicas: 1, DeleteTopics: true, MutationWindow: 11 * time.Second,
		Supported: image.Replayable(), Keys: keys{},
	}
}

// newCluster is a cluster at the newest level without brokers.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{t: t, img: image.Empty(), soft: NewSoft(settings(), rand.New(rand.NewPCG(1, 2)))}
	do(c, Activate(c.img, c.soft, c.now, Bootstrap(image.LatestLevel)))
	return c
}

// do takes a decision over: its records must be writable and apply.
func do[T any](c *cluster, d Decision[T]) T {
	c.t.Helper()
	if d.Err != nil {
		c.t.Fatalf("refused: %v", d.Err)
	}
	c.apply(d.Records)
	if d.Then != nil {
		d.Then()
	}
	return d.Reply
}

// apply applies records as a follower reads them. The active controller takes them
// as it decided them, and must come to the same.
func (c *cluster) apply(records []Versioned) {
	c.t.Helper()
	var messages, decided []metarec.Message
	for _, r := range records {
		framed, err := metarec.AppendMetadata(nil, r.Message, r.Version)
		if err != nil {
			c.t.Fatalf("%s at version %d: %v", r.Message.MessageName(), r.Version, err)
		}
		read, _, err := metarec.ReadMetadata(framed)
		if err != nil {
			c.t.Fatalf("%s at version %d: %v", r.Message.MessageName(), r.Version, err)
		}
		messages, decided = append(messages, read), append(decided, r.Message)
	}
	next, _, err := image.Apply(c.img, messages)
	if err != nil {
		c.t.Fatalf("decided records do not apply: %v", err)
	}
	if own, err := image.Step(c.img, decided); err != nil || !own.Image().Equal(next) {
		c.t.Fatalf("the active controller's own image differs from a follower's: %v, %+v", err, image.Between(next, own.Image()))
	}
	c.img = next
}

func (c *cluster) add(messages ...metarec.Message) {
	c.t.Helper()
	next, _, err := image.Apply(c.img, messages)
	if err != nil {
		c.t.Fatal(err)
	}
	c.img = next
}

// elr switches eligible leader replicas on.
func (c *cluster) elr() {
	c.add(&metarec.FeatureLevelRecord{Name: image.ElrVersion, FeatureLevel: 1})
}

func uid(n int) kafka.UUID { return kafka.UUID{0: 1, 14: byte(n >> 8), 15: byte(n)} }

func dirs(ns ...int) []kafka.DirID {
	var out []kafka.DirID
	for _, n := range ns {
		out = append(out, uid(n))
	}
	return out
}

// registration is what a healthy broker sends; its directories are n*10+1 and
// so on.
func registration(n, dirCount int) Registration {
	r := Registration{
		Broker: kafka.NodeID(n), ClusterID: "C", Incarnation: uid(n), PreviousEpoch: kafka.NoBrokerEpoch,
		Endpoints: []image.Endpoint{{Name: "PLAINTEXT", Host: "h", Port: 9092}},
		Features: []image.VersionRange{
			{Name: image.MetadataVersion, Min: 7, Max: 33}, {Name: image.ElrVersion, Max: 1},
			{Name: image.DirsFeature, Max: 1},
		},
	}
	for i := range dirCount {
		r.Dirs = append(r.Dirs, uid(n*10+i+1))
	}
	return r
}

// fenced registers brokers with one directory each.
func (c *cluster) fenced(ns ...int) {
	c.t.Helper()
	for _, n := range ns {
		do(c, RegisterBroker(c.img, c.soft, c.now, registration(n, 1)))
	}
}

// brokers registers and unfences brokers with one directory each.
func (c *cluster) brokers(ns ...int) {
	c.t.Helper()
	c.fenced(ns...)
	for _, n := range ns {
		c.beat(n)
	}
}

func (c *cluster) broker(n int) *image.Broker {
	c.t.Helper()
	b, ok := c.img.Broker(kafka.NodeID(n))
	if !ok {
		c.t.Fatalf("broker %d is not registered", n)
	}
	return b
}

// beat sends a heartbeat of a broker that has read all.
func (c *cluster) beat(n int, change ...func(*Beat)) Beaten {
	c.t.Helper()
	b := Beat{Broker: kafka.NodeID(n), Epoch: c.broker(n).Epoch, MetadataOffset: c.img.NextOffset() - 1}
	for _, f := range change {
		f(&b)
	}
	return do(c, Heartbeat(c.img, c.soft, c.now, b))
}

func wantShutDown(b *Beat) { b.WantShutDown = true }
func wantFence(b *Beat)    { b.WantFence = true }

// topic creates a topic with the replicas of each partition, "1,2 2,1".
func (c *cluster) topic(name, replicas string, configs ...string) {
	c.t.Helper()
	want := NewTopic{Name: name, Partitions: FromSettings, Replication: FromSettings}
	for n, list := range strings.Fields(replicas) {
		want.Assignments = append(want.Assignments, Assignment{kafka.PartitionID(n), nodeList(list)})
	}
	for _, kv := range configs {
		k, v, _ := strings.Cut(kv, "=")
		want.Configs = append(want.Configs, ConfigValue{k, &v})
	}
	for _, r := range do(c, CreateTopics(c.img, c.soft, TopicsToCreate{Topics: []NewTopic{want}})) {
		if r.Err != nil {
			c.t.Fatalf("topic %s: %v", name, r.Err)
		}
	}
}

func nodeList(s string) []kafka.NodeID {
	var out []kafka.NodeID
	for item := range strings.SplitSeq(s, ",") {
		if n, err := strconv.Atoi(item); err == nil {
			out = append(out, kafka.NodeID(n))
		}
	}
	return out
}

func (c *cluster) partition(topic string, n int) *image.Partition {
	c.t.Helper()
	p, ok := c.img.Partition(kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(n)})
	if !ok {
		c.t.Fatalf("there is no partition %s-%d", topic, n)
	}
	return p
}

func (c *cluster) tp(topic string, n int) kafka.TopicIDPartition {
	c.t.Helper()
	t, ok := c.img.TopicNamed(topic)
	if !ok {
		c.t.Fatalf("there is no topic %s", topic)
	}
	return kafka.TopicIDPartition{Topic: t.ID, Partition: kafka.PartitionID(n)}
}

// expect compares a partition with a text such as "leader=2@1 isr=2,3".
func (c *cluster) expect(topic string, n int, want string) {
	c.t.Helper()
	if got := text(c.partition(topic, n)); got != want {
		c.t.Errorf("%s-%d is %q, want %q", topic, n, got, want)
	}
}

func text(p *image.Partition) string {
	s := fmt.Sprintf("leader=%d@%d isr=%s", p.Leader, p.LeaderEpoch, join(p.ISR))
	for _, part := range []struct {
		name string
		ids  []kafka.NodeID
	}{{"elr", p.ELR}, {"last", p.LastELR}, {"adding", p.Adding}, {"removing", p.Removing}} {
		if len(part.ids) > 0 {
			s += " " + part.name + "=" + join(part.ids)
		}
	}
	if p.Recovery != image.Recovered {
		s += " recovering"
	}
	return s
}

func join(ids []kafka.NodeID) string {
	var items []string
	for _, id := range ids {
		items = append(items, strconv.Itoa(int(id)))
	}
	return strings.Join(items, ",")
}

// refused checks the code of a refusal, and that its message names something.
func refused(t testing.TB, err error, code kerr.Code, words ...string) {
	t.Helper()
	if kerr.Of(err) != code {
		t.Errorf("got %v, want %v", err, code)
		return
	}
	if err == nil {
		return
	}
	for _, w := range words {
		if m := kerr.Message(err); m == nil || !strings.Contains(*m, w) {
			t.Errorf("message %v does not have %q", err, w)
		}
	}
}

func names(records []Versioned) []string {
	var out []string
	for _, r := range records {
		out = append(out, strings.TrimSuffix(r.Message.MessageName(), "Record"))
	}
	return out
}

func wrote(t testing.TB, records []Versioned, want ...string) {
	t.Helper()
	if got := names(records); !slices.Equal(got, want) {
		t.Errorf("wrote %v, want %v", got, want)
	}
}
