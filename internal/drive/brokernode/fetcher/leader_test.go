package fetcher

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

const (
	leads   = testbed.Self
	follows = testbed.Other
)

// pair is a broker that leads and one that follows, without a network between.
// Both read the same metadata.
type pair struct {
	t                *testing.T
	leader, follower *testbed.Bed
	at               *leaderConn
	fetcher          *Fetcher
	quota            Quota
}

func newPair(t *testing.T) *pair { return newPairWith(t, nil) }

// newPairWith has a quota over what the follower copies.
func newPairWith(t *testing.T, quota Quota) *pair {
	p := &pair{t: t, quota: quota, leader: testbed.New(t, vfs.NewMem(), "/leader", 1), follower: testbed.New(t, vfs.NewMem(), "/follower", 1)}
	p.follower.Node = follows
	p.at = p.conn()
	p.follower.Then = func(d image.Delta, img *image.Image) {
		if p.fetcher == nil { // the manager is there only now
			p.fetcher = New(p.config())
			t.Cleanup(p.fetcher.Close)
		}
		p.fetcher.Publish(d, img)
	}
	p.leader.Start()
	p.follower.Start()
	return p
}

func (p *pair) conn() *leaderConn {
	return &leaderConn{bed: p.leader, listed: map[kafka.TopicIDPartition]kmsg.FetchRequestTopicPartition{}}
}

func (p *pair) config() Config {
	return Config{
		Self: follows, Partitions: p.follower.Manager, Listener: "PLAINTEXT", Sources: 1,
		Epoch: func() kafka.BrokerEpoch { return 100 + kafka.BrokerEpoch(follows) },
		Limits: Limits{
			Wait: 500 * time.Millisecond, MinBytes: 1, PartitionBytes: 1 << 20, AnswerBytes: 10 << 20,
			Timeout: 30 * time.Second, Backoff: time.Second,
		},
		Quota:   p.quota,
		Connect: func(string) Conn { return p.at },
		Log:     quiet,
	}
}

// apply lets both know; the leader first.
func (p *pair) apply(records ...metarec.Message) {
	p.t.Helper()
	p.leader.Apply(records...)
	p.leader.Publish()
	p.follower.Apply(records...)
	p.follower.Publish()
}

// topic makes one with n partitions of two replicas, both in sync.
func (p *pair) topic(name string, n int) kafka.TopicID {
	p.t.Helper()
	id := p.leader.AddTopic(name)
	p.follower.AddTopic(name)
	for i := range n {
		p.apply(testbed.Partition(id, i, leads, follows))
	}
	return id
}

func (p *pair) write(topic string, n, count int) {
	p.t.Helper()
	if _, err := p.leader.Find(topic, n).Append(records(count), false); err != nil {
		p.t.Fatal(err)
	}
}

func records(n int) []byte {
	w := batch.NewBuilder(batch.Options{})
	for range n {
		w.Add(1000, nil, []byte("value"))
	}
	return w.Build(nil)
}

// leaderConn answers as a leader does, over the replicas of a bed.
type leaderConn struct {
	bed *testbed.Bed

	mu     sync.Mutex
	down   error         // instead of any answer
	refuse kerr.Code     // instead of any partition's answer
	once   bool          // refuse but one
	forget bool          // the session, at the next request
	spoil  bool          // the checksums of all batches
	single bool          // gives one batch at a time
	queues bool          // reads a request when the one before is answered, as Apache Kafka does
	last   chan struct{} // closed when the newest request is answered
	epoch  int32         // of the session's next request
	listed map[kafka.TopicIDPartition]kmsg.FetchRequestTopicPartition
	asked  []*kmsg.FetchRequest
}

func (c *leaderConn) Close() {}

func (c *leaderConn) script(change func(*leaderConn)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

// requests are those that were answered so far, or are being.
func (c *leaderConn) requests() []*kmsg.FetchRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked)
}

// Send answers in the order of the requests.
func (c *leaderConn) Send(ctx context.Context, req kmsg.Request, done func(kmsg.Response, error)) {
	c.mu.Lock()
	before, answered, queues := c.last, make(chan struct{}), c.queues
	c.last = answered
	c.mu.Unlock()
	wait := func() {
		if before != nil {
			<-before
		}
	}
	serve := func() (kmsg.Response, error) { wait(); return c.begin(req)(ctx) }
	if !queues {
		begun := c.begin(req)
		serve = func() (kmsg.Response, error) { return begun(ctx) }
	}
	go func() {
		resp, err := serve()
		wait()
		done(resp, err)
		close(answered)
	}()
}

// begin reads a request; the rest is to wait for the answer.
func (c *leaderConn) begin(req kmsg.Request) func(context.Context) (kmsg.Response, error) {
	c.mu.Lock()
	down := c.down
	c.mu.Unlock()
	if down != nil {
		return func(context.Context) (kmsg.Response, error) { return nil, down }
	}
	switch req := req.(type) {
	case *kmsg.FetchRequest:
		code := c.enter(req)
		return func(ctx context.Context) (kmsg.Response, error) { return c.fetch(ctx, req, code) }
	case *kmsg.ListOffsetsRequest:
		return func(context.Context) (kmsg.Response, error) { return c.offsets(req), nil }
	}
	return func(context.Context) (kmsg.Response, error) { return nil, errors.New("unexpected request") }
}

// fetch waits as a leader does, looking again every millisecond. It answers when
// the next request of the session has come.
func (c *leaderConn) fetch(ctx context.Context, req *kmsg.FetchRequest, code kerr.Code) (kmsg.Response, error) {
	resp := kmsg.NewPtrFetchResponse()
	if code != kerr.None {
		resp.ErrorCode = int16(code)
		return resp, nil
	}
	resp.SessionID = 7
	for waited := int32(0); ; waited++ {
		if c.next() > req.SessionEpoch+1 {
			return resp, nil
		}
		c.answer(resp)
		if len(resp.Topics) > 0 || waited >= req.MaxWaitMillis {
			return resp, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// next is the epoch that the session's next request has.
func (c *leaderConn) next() int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch
}

// enter brings the session up to a request.
func (c *leaderConn) enter(req *kmsg.FetchRequest) kerr.Code {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, req)
	switch {
	case c.forget:
		c.forget, c.epoch = false, 0
		return kerr.FetchSessionIdNotFound
	case req.SessionEpoch == 0:
		clear(c.listed)
	case req.SessionID != 7 || req.SessionEpoch != c.epoch:
		return kerr.InvalidFetchSessionEpoch
	}
	c.epoch = req.SessionEpoch + 1
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			c.listed[kafka.TopicIDPartition{Topic: t.TopicID, Partition: kafka.PartitionID(p.Partition)}] = p
		}
	}
	for _, t := range req.ForgottenTopics {
		for _, p := range t.Partitions {
			delete(c.listed, kafka.TopicIDPartition{Topic: t.TopicID, Partition: kafka.PartitionID(p)})
		}
	}
	return kerr.None
}

func (c *leaderConn) answer(resp *kmsg.FetchResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, asked := range c.listed {
		p, worth := c.partition(id, asked)
		if worth {
			t := kmsg.NewFetchResponseTopic()
			t.TopicID, t.Partitions = id.Topic, []kmsg.FetchResponseTopicPartition{p}
			resp.Topics = append(resp.Topics, t)
		}
	}
}

func (c *leaderConn) partition(id kafka.TopicIDPartition, asked kmsg.FetchRequestTopicPartition) (p kmsg.FetchResponseTopicPartition, worth bool) {
	p = kmsg.NewFetchResponseTopicPartition()
	p.Partition = asked.Partition
	if c.refuse != kerr.None {
		p.ErrorCode = int16(c.refuse)
		if c.once {
			c.refuse = kerr.None
		}
		return p, true
	}
	if c.single {
		asked.PartitionMaxBytes = 1
	}
	part, err := c.bed.Manager.ByID(id)
	var d partitions.Data
	if err == nil {
		d, err = part.Read(partitions.Reader{Follower: follows, BrokerEpoch: 100 + kafka.BrokerEpoch(follows)}, partitions.Want{
			CurrentEpoch: kafka.Epoch(asked.CurrentLeaderEpoch), Offset: kafka.Offset(asked.FetchOffset), LastEpoch: kafka.Epoch(asked.LastFetchedEpoch),
			LogStart: kafka.Offset(asked.LogStartOffset), MaxBytes: int(asked.PartitionMaxBytes), AtLeastOne: true,
		})
	}
	if err != nil {
		p.ErrorCode = int16(kerr.Of(err))
		return p, true
	}
	defer d.Records.Close()
	p.HighWatermark, p.LogStartOffset = int64(d.HighWatermark), int64(d.LogStart)
	if d.Diverging != nil {
		p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = int32(d.Diverging.Epoch), int64(d.Diverging.End)
		return p, true
	}
	p.RecordBatches, err = d.Records.AppendTo(nil)
	if err != nil {
		panic(err) // the disk is memory
	}
	if n := len(p.RecordBatches); c.spoil && n > 0 {
		p.RecordBatches[n-1] ^= 1
	}
	return p, len(p.RecordBatches) > 0 || p.HighWatermark > asked.HighWatermark || p.LogStartOffset > asked.LogStartOffset
}

func (c *leaderConn) offsets(req *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := kmsg.NewPtrListOffsetsResponse()
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition = p.Partition
			at, err := c.bed.Find(t.Topic, int(p.Partition)).Find(partitions.Reader{Follower: follows}, kafka.Epoch(p.CurrentLeaderEpoch), p.Timestamp)
			rp.ErrorCode, rp.Offset = int16(kerr.Of(err)), int64(at.Offset)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}
