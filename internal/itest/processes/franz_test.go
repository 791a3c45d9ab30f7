package processes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/itest"
)

// Every codec, written by an idempotent producer, comes back as it went in.
func TestEveryCodecWithAnIdempotentProducer(t *testing.T) {
	itest.InEachWorld(t, everyCodecWithAnIdempotentProducer)
}

func everyCodecWithAnIdempotentProducer(t *testing.T, w itest.World) {
	d := w.StartDev(t)
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) {
			topic := "codec-" + name
			create(t, d.Addr, topic, 2, nil)
			cl := client(t, d.Addr, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(codec), kgo.RequiredAcks(kgo.AllISRAcks()))
			want := numbered(name, 2000)
			for _, line := range want {
				cl.Produce(patience(t), kgo.StringRecord(line), func(_ *kgo.Record, err error) {
					if err != nil {
						t.Error(err)
					}
				})
			}
			if err := cl.Flush(patience(t)); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, lines := range readAll(t, d.Addr, topic) {
				got = append(got, lines...)
			}
			if !slices.Equal(sorted(got), want) {
				t.Errorf("%d of %d records came back", len(got), len(want))
			}
		})
	}
}

// A batch that is sent twice is written once, and both answers name the same
// offset.
func TestABatchSentTwiceIsWrittenOnce(t *testing.T) {
	itest.InEachWorld(t, aBatchSentTwiceIsWrittenOnce)
}

func aBatchSentTwiceIsWrittenOnce(t *testing.T, w itest.World) {
	d := w.StartDev(t)
	create(t, d.Addr, "t", 1, nil)
	cl := client(t, d.Addr)
	id, err := kmsg.NewPtrInitProducerIDRequest().RequestWith(patience(t), cl)
	if err != nil || id.ErrorCode != 0 {
		t.Fatalf("%v, error %d", err, id.ErrorCode)
	}
	batch := idempotentBatch(id.ProducerID, id.ProducerEpoch, 0, "once")
	var offsets []int64
	for range 2 {
		offsets = append(offsets, produceRaw(t, cl, "t", batch, kerr.ErrorForCode(0)))
	}
	if !slices.Equal(offsets, []int64{0, 0}) {
		t.Errorf("offsets %v", offsets)
	}
	gap := idempotentBatch(id.ProducerID, id.ProducerEpoch, 5, "too far")
	produceRaw(t, cl, "t", gap, kerr.OutOfOrderSequenceNumber)
	if got := readAll(t, d.Addr, "t")[0]; !slices.Equal(got, []string{"once"}) {
		t.Errorf("the log holds %q", got)
	}
}

// A group of franz-go members shares a topic, commits and resumes.
func TestAGroupResumesFromItsCommit(t *testing.T) {
	itest.InEachWorld(t, aGroupResumesFromItsCommit)
}

func aGroupResumesFromItsCommit(t *testing.T, w itest.World) {
	d := w.StartDev(t)
	create(t, d.Addr, "t", 3, nil)
	write := func(prefix string) {
		cl := client(t, d.Addr, kgo.DefaultProduceTopic("t"))
		for _, line := range numbered(prefix, 300) {
			if err := cl.ProduceSync(patience(t), kgo.StringRecord(line)).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	consume := func(n int) (got []string) {
		cl := client(t, d.Addr, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		defer cl.LeaveGroup()
		for len(got) < n {
			fetches := cl.PollFetches(patience(t))
			if err := fetches.Err(); err != nil {
				t.Fatal(err)
			}
			fetches.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
		}
		if err := cl.CommitUncommittedOffsets(patience(t)); err != nil {
			t.Fatal(err)
		}
		return got
	}
	write("a")
	if got := consume(300); !slices.Equal(sorted(got), numbered("a", 300)) {
		t.Errorf("%d records at first", len(got))
	}
	d.Kill()
	d.Again(t)
	write("b")
	if got := consume(300); !slices.Equal(sorted(got), numbered("b", 300)) {
		t.Errorf("after the restart: %d records, the first %q", len(got), got[0])
	}
	lag, err := kadm.NewClient(client(t, d.Addr)).Lag(patience(t), "g")
	if err != nil {
		t.Fatal(err)
	}
	if total := lag["g"].Lag.Total(); total != 0 {
		t.Errorf("lag %d", total)
	}
}

// Clients that want what this release does not serve learn it quickly.
func TestWhatIsNotServedIsRefusedQuickly(t *testing.T) {
	itest.InEachWorld(t, whatIsNotServedIsRefusedQuickly)
}

func whatIsNotServedIsRefusedQuickly(t *testing.T, w itest.World) {
	d := w.StartDev(t)
	create(t, d.Addr, "t", 1, nil)
	f := func(name string, use func(context.Context) error) {
		t.Helper()
		began := time.Now()
		err := within(t, 10*time.Second, name, use)
		if refusal := (*kerr.Error)(nil); !errors.As(err, &refusal) {
			t.Errorf("%s: the node refused nothing, but %v", name, err)
		}
		t.Logf("%s: %v after %v", name, err, time.Since(began).Round(time.Millisecond))
	}
	f("transactions", func(ctx context.Context) error {
		cl := client(t, d.Addr, kgo.TransactionalID("tx"), kgo.DefaultProduceTopic("t"))
		if err := cl.BeginTransaction(); err != nil {
			return err
		}
		return cl.ProduceSync(ctx, kgo.StringRecord("x")).FirstErr()
	})
	f("the coordinator of a transaction", func(ctx context.Context) error {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorType, req.CoordinatorKeys = 6, 1, []string{"tx"}
		resp, err := req.RequestWith(ctx, client(t, d.Addr))
		if err != nil {
			return err
		}
		refusal := kerr.ErrorForCode(resp.Coordinators[0].ErrorCode)
		if kerr.IsRetriable(refusal) {
			t.Errorf("%v can be retried", refusal)
		}
		if m := resp.Coordinators[0].ErrorMessage; m == nil || *m == "" {
			t.Error("no message says what is missing")
		}
		return refusal
	})
}

// produceRaw sends one batch of bytes to the leader of partition 0 and wants a
// certain answer.
func produceRaw(t *testing.T, cl *kgo.Client, topic string, batch []byte, want error) int64 {
	t.Helper()
	p := ask(t, cl, topic, 0, batch)
	if answer := kerr.ErrorForCode(p.ErrorCode); answer != want {
		t.Fatalf("answered %v (%v), want %v", answer, message(p.ErrorMessage), want)
	}
	return p.BaseOffset
}

// produceTo sends one batch of bytes to its leader and gives the answer's error.
func produceTo(t *testing.T, cl *kgo.Client, topic string, partition int32, batch []byte) error {
	t.Helper()
	return kerr.ErrorForCode(ask(t, cl, topic, partition, batch).ErrorCode)
}

func ask(t *testing.T, cl *kgo.Client, topic string, partition int32, batch []byte) kmsg.ProduceResponseTopicPartition {
	t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, -1, 10_000
	rt := kmsg.NewProduceRequestTopic()
	known := described(t, cl, topic)
	rt.Topic, rt.TopicID = topic, known.ID // newer versions name a topic by its id
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = partition, batch
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	got, err := cl.Broker(int(known.Partitions[partition].Leader)).Request(patience(t), req)
	if err != nil {
		t.Fatal(err)
	}
	return got.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
}

// described is what metadata tells of a topic.
func described(t *testing.T, cl *kgo.Client, topic string) kadm.TopicDetail {
	t.Helper()
	topics, err := kadm.NewClient(cl).ListTopics(patience(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	return topics[topic]
}

func message(m *string) string {
	if m == nil {
		return "no message"
	}
	return fmt.Sprintf("%q", *m)
}
