package mender

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

var topic = kafka.TopicID{7}

// cluster is what brokers 1 to 3 hold of the partition t-0: in one log of ten batches,
// of which an answer has two at most.
type cluster struct {
	t     *testing.T
	asked []string
	down  string    // an address that does not answer
	code  kerr.Code // what the others answer
	lacks kafka.Offset
	// rotten is the batch that is damaged at an address.
	rotten map[string]kafka.Offset
}

func (c *cluster) Do(_ context.Context, addr string, req kmsg.Request) (kmsg.Response, error) {
	c.asked = append(c.asked, addr)
	if addr == c.down {
		return nil, errors.New("no answer")
	}
	ask := req.(*kmsg.FetchRequest)
	p := ask.Topics[0].Partitions[0]
	if ask.ReplicaState.ID != -2 || ask.ReplicaID != -2 || ask.Topics[0].TopicID != topic || p.Partition != 0 {
		c.t.Errorf("asks %+v", ask)
	}
	resp := ask.ResponseKind().(*kmsg.FetchResponse)
	resp.Version = 17
	answer := kmsg.NewFetchResponseTopicPartition()
	answer.ErrorCode = int16(c.code)
	if c.code == kerr.None {
		answer.RecordBatches = c.log(kafka.Offset(p.FetchOffset))
		for h, b := range batch.All(answer.RecordBatches) {
			if at, ok := c.rotten[addr]; ok && at == h.BaseOffset {
				b[len(b)-1] ^= 1
			}
		}
	}
	t := kmsg.NewFetchResponseTopic()
	t.TopicID, t.Partitions = topic, append(t.Partitions, answer)
	resp.Topics = append(resp.Topics, t)
	return resp, nil
}

// log is what an answer holds: two batches of three records each, or one of them.
func (c *cluster) log(from kafka.Offset) (b []byte) {
	for base, n := from/3*3, 0; base < 30 && n < 2; base, n = base+3, n+1 {
		if base == c.lacks {
			continue // compacted away
		}
		x := batch.NewBuilder(batch.Options{BaseOffset: base})
		for range 3 {
			x.Add(1, nil, []byte("v"))
		}
		b = append(b, x.Build(nil)...)
	}
	return b
}

func offsets(b []byte) (list []kafka.Offset) {
	for h := range batch.All(b) {
		list = append(list, h.BaseOffset)
	}
	return list
}

// known is an image in which broker 2 leads t-0 and 1 to 3 are in sync.
func known(t *testing.T, isr ...int32) *image.Image {
	t.Helper()
	records := []metarec.Message{&metarec.TopicRecord{Name: "t", TopicId: topic}}
	p := metarec.NewPartitionRecord()
	p.PartitionId, p.TopicId, p.Replicas, p.Isr, p.Leader = 0, topic, []int32{1, 2, 3}, isr, isr[0]
	records = append(records, p)
	for id := int32(1); id <= 3; id++ {
		b := metarec.NewRegisterBrokerRecord()
		b.BrokerId = id
		b.EndPoints = []metarec.RegisterBrokerRecordBrokerEndpoint{{Name: "INTERNAL", Host: "h" + string(rune('0'+id)), Port: 9}}
		records = append(records, b)
	}
	img, _, err := image.Apply(image.Empty(), records)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func (c *cluster) fetch(img *image.Image, from, to kafka.Offset) ([]kafka.Offset, error) {
	c.asked = nil
	m := New(Config{Self: 1, Listener: "INTERNAL", Image: func() *image.Image { return img }, Peers: c, Timeout: time.Second})
	b, err := m.Fetch(c.t.Context(), kafka.TopicPartition{Topic: "t"}, from, to)
	return offsets(b), err
}

func TestBatchesComeFromTheLeaderAndElseFromWhoIsInSync(t *testing.T) {
	c := &cluster{t: t, lacks: -1}
	img := known(t, 2, 1, 3)
	f := func(what string, from, to kafka.Offset, want []kafka.Offset, asked string) {
		t.Helper()
		got, err := c.fetch(img, from, to)
		if err != nil || !slices.Equal(got, want) || strings.Join(c.asked, " ") != asked {
			t.Errorf("%s: %v of %v, %v", what, got, c.asked, err)
		}
	}
	f("one answer is enough", 3, 9, []kafka.Offset{3, 6}, "h2:9")
	f("three answers", 4, 18, []kafka.Offset{3, 6, 9, 12, 15}, "h2:9 h2:9 h2:9")
	c.down = "h2:9"
	f("the leader is away", 3, 6, []kafka.Offset{3}, "h2:9 h3:9")
	c.down, c.lacks = "", 3
	f("compacted away", 3, 6, nil, "h2:9")
	f("compacted away, and one more", 3, 9, []kafka.Offset{6}, "h2:9")
	c.lacks, c.rotten = -1, map[string]kafka.Offset{"h2:9": 6, "h3:9": 3}
	f("each has another one that is damaged", 3, 12, []kafka.Offset{3, 6, 9}, "h2:9 h3:9")
}

func TestWhoCannotBeAskedIsNamed(t *testing.T) {
	c := &cluster{t: t, lacks: -1}
	f := func(img *image.Image, from, to kafka.Offset, want string) {
		t.Helper()
		if _, err := c.fetch(img, from, to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
	f(known(t, 1), 0, 3, "no other replica is in sync")
	f(image.Empty(), 0, 3, "UNKNOWN_TOPIC_OR_PARTITION")
	f(known(t, 2, 1), 29, 33, "broker 2: it has nothing from 30 on")
	c.rotten = map[string]kafka.Offset{"h2:9": 3}
	f(known(t, 2, 1), 3, 6, "broker 2: its batch at 3 is damaged, too")
	c.code = kerr.OffsetOutOfRange
	f(known(t, 2, 1), 0, 3, "broker 2: OFFSET_OUT_OF_RANGE")
}
