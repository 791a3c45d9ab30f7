package interop

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// contents are what was written to a cluster before its nodes became others, and has
// to be read from it ever after.
type contents struct {
	values map[string][]string // by topic, sorted; what a reader of committed records sees
	group  string
	read   int64 // how many records the group has committed
}

var policies = []string{"delete", "compact", "compact,delete"}

// A codec with its name is what a producer compresses with.
var compressions = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// write fills a topic of each cleanup policy with batches of each codec, and commits
// a group's offsets. The topics have so many replicas.
func write(p *peer.Play, c *peer.Cluster, replicas int16) *contents {
	p.Helper()
	k := &contents{values: map[string][]string{}, group: "readers"}
	for i, policy := range policies {
		topic := fmt.Sprintf("policy-%d", i)
		c.CreateTopic(topic, 3, replicas, map[string]string{"cleanup.policy": policy})
		c.InSync(topic, int(replicas))
		for name, codec := range compressions {
			cl := c.Client(kgo.ProducerBatchCompression(codec), kgo.DefaultProduceTopic(topic))
			for n := range 50 {
				value := fmt.Sprintf("%s %d of %s, a value with something to compress: aaaaaaaaaaaaaaaaaaaaaaaa", name, n, topic)
				r := &kgo.Record{Key: []byte(value), Value: []byte(value)}
				cl.Produce(context.Background(), r, func(_ *kgo.Record, err error) {
					if err != nil {
						p.Errorf("producing to %s with %s: %v", topic, name, err)
					}
				})
				k.values[topic] = append(k.values[topic], value)
			}
			if err := cl.Flush(context.Background()); err != nil {
				p.Fatal(err)
			}
			cl.Close()
		}
		slices.Sort(k.values[topic])
	}
	k.join(p, c)
	k.transact(p, c, replicas)
	return k
}

// transact writes transactions, every second of which is aborted, with a Java node as
// the coordinator. A cluster without one has none.
func (k *contents) transact(p *peer.Play, c *peer.Cluster, replicas int16) {
	p.Helper()
	var java []int32
	for _, n := range brokersOf(c) {
		if n.Kind.Java() {
			java = append(java, int32(n.ID))
		}
	}
	if len(java) == 0 {
		return
	}
	c.CreatePlaced("__transaction_state", [][]int32{java, java, java}, map[string]string{"cleanup.policy": "compact"})
	topic := "transactions"
	c.CreateTopic(topic, 3, replicas, nil)
	c.InSync(topic, int(replicas))
	cl := c.Client(kgo.TransactionalID("transactor"), kgo.DefaultProduceTopic(topic))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), itest.Stuck)
	defer cancel()
	for i := range 10 {
		if err := cl.BeginTransaction(); err != nil {
			p.Fatal(err)
		}
		end := kgo.TransactionEndTry(i%2 == 0)
		for n := range 10 {
			value := fmt.Sprintf("record %d of transaction %d", n, i)
			if err := cl.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
				p.Fatalf("transaction %d: %v", i, err)
			}
			if end == kgo.TryCommit {
				k.values[topic] = append(k.values[topic], value)
			}
		}
		if err := cl.EndTransaction(ctx, end); err != nil {
			p.Fatalf("transaction %d: %v", i, err)
		}
	}
	slices.Sort(k.values[topic])
}

// join has a group read one topic and commit where it is.
func (k *contents) join(p *peer.Play, c *peer.Cluster) {
	p.Helper()
	topic := "policy-0"
	cl := c.Client(kgo.ConsumerGroup(k.group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), itest.Stuck)
	defer cancel()
	for k.read < int64(len(k.values[topic])) {
		got := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			p.Fatalf("the group has read %d records of %d: %v", k.read, len(k.values[topic]), got.Errors())
		}
		k.read += int64(got.NumRecords())
	}
	if err := cl.CommitUncommittedOffsets(ctx); err != nil {
		p.Fatal(err)
	}
}

// check reads everything back.
func (k *contents) check(p *peer.Play, c *peer.Cluster) {
	p.Helper()
	for topic, want := range k.values {
		got := committed(p, c, topic, len(want))
		if !slices.Equal(got, want) {
			p.Errorf("%s holds %d records, not the %d that were written", topic, len(got), len(want))
		}
	}
	itest.Eventually(p, func() error { // a coordinator may just be moving
		ctx, cancel := context.WithTimeout(context.Background(), itest.Stuck)
		defer cancel()
		cl := c.Client()
		defer cl.Close()
		offsets, err := kadm.NewClient(cl).FetchOffsets(ctx, k.group)
		if err == nil {
			err = offsets.Error()
		}
		if err != nil {
			return err
		}
		sum := int64(0)
		offsets.Each(func(o kadm.OffsetResponse) { sum += o.At })
		if sum != k.read {
			p.Fatalf("group %s has committed %d records, not %d", k.group, sum, k.read)
		}
		return nil
	})
}

// committed reads what a topic has for those who read committed records only, up to
// its end, sorted.
func committed(p *peer.Play, c *peer.Cluster, topic string, atLeast int) (values []string) {
	p.Helper()
	cl := c.Client(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), itest.Stuck)
	defer cancel()
	for len(values) < atLeast && ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	slices.Sort(values)
	return values
}
