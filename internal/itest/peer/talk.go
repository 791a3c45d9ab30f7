package peer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/itest"
)

// answerWithin bounds one request to one node. A node that does not answer for so
// long is asked again, or another one is.
const answerWithin = 3 * time.Second

// talks are connections to one node each, by address.
type talks struct {
	mu  sync.Mutex
	all map[string]*kgo.Client
}

func (k *talks) to(addr string, from *itest.Host) (*kgo.Client, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if cl := k.all[addr+from.IP]; cl != nil {
		return cl, nil
	}
	// A controller has no metadata for clients, and Java logs that they ask.
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.Dialer(from.Dial), kgo.MetadataMaxAge(time.Hour))
	if err != nil {
		return nil, err
	}
	if k.all == nil {
		k.all = map[string]*kgo.Client{}
	}
	k.all[addr+from.IP] = cl
	return cl, nil
}

func (k *talks) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, cl := range k.all {
		cl.Close()
	}
}

// ask sends a request to one listener of a node, from the node's own host when it
// is cut off and else from the clients'.
func (n *Node) ask(addr string, req kmsg.Request) (kmsg.Response, error) {
	from := n.c.clients
	if n.cut {
		from = n.Host
	}
	cl, err := n.c.talks.to(addr, from)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	return cl.SeedBrokers()[0].Request(ctx, req)
}

// Client is a client of all brokers, on the clients' host. It is closed at the end
// of the test.
func (c *Cluster) Client(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.Addrs()...), kgo.Dialer(c.clients.Dial), kgo.RetryTimeout(itest.Stuck)}, opts...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

// Addrs are the addresses of all brokers.
func (c *Cluster) Addrs() (all []string) {
	for _, n := range c.brokers() {
		all = append(all, n.Addr())
	}
	return all
}

// Ready waits until every node that runs is caught up with the quorum's leader, and
// every broker that runs knows all brokers that do.
func (c *Cluster) Ready() {
	c.t.Helper()
	c.Settled()
	itest.Eventually(c.t, func() error {
		up := c.pick(func(n *Node) bool { return n.Roles.Serves() && n.reachable() })
		for _, n := range up {
			resp, err := n.ask(n.Addr(), kmsg.NewPtrMetadataRequest())
			if err != nil {
				return fmt.Errorf("%s: %w", n, err)
			}
			if known := len(resp.(*kmsg.MetadataResponse).Brokers); known < len(up) {
				return fmt.Errorf("%s knows %d brokers of %d", n, known, len(up))
			}
		}
		return nil
	})
}

// CreateTopic creates a topic that has partitions everywhere; want may change the
// request.
func (c *Cluster) CreateTopic(name string, partitions int32, replicas int16, configs map[string]string) {
	c.t.Helper()
	cl := c.Client()
	itest.Eventually(c.t, func() error {
		err := createTopic(cl.Request, name, partitions, replicas, configs)
		if err == kerr.TopicAlreadyExists { //nolint:errorlint // an answer, and of an attempt whose answer was lost
			return nil
		}
		return err
	})
}

// requester sends a request to whoever it is for.
type requester func(context.Context, kmsg.Request) (kmsg.Response, error)

func createTopic(ask requester, name string, partitions int32, replicas int16, configs map[string]string) error {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, replicas
	for k, v := range configs {
		topic.Configs = append(topic.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: k, Value: kmsg.StringPtr(v)})
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics, req.TimeoutMillis = append(req.Topics, topic), 2000
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	resp, err := ask(ctx, req)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return err
		}
	}
	return nil
}

// AskToCreate asks one controller, which may be cut off, for a topic, and does not
// expect it to succeed.
func (n *Node) AskToCreate(name string) error {
	return createTopic(func(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
		return n.ask(n.ControllerAddr(), req)
	}, name, 1, 1, nil)
}

// InSync waits until every broker that can be asked shows each partition of a topic
// with a leader and so many replicas in sync.
func (c *Cluster) InSync(topic string, replicas int) {
	c.t.Helper()
	itest.Eventually(c.t, func() error {
		for _, n := range c.pick(func(n *Node) bool { return n.Roles.Serves() && n.reachable() }) {
			partitions, err := n.Partitions(topic)
			if err != nil {
				return err
			}
			for _, p := range partitions {
				if p.ErrorCode != 0 || p.Leader < 0 || len(p.ISR) < replicas {
					return fmt.Errorf("%s shows %s-%d led by %d, in sync %v of %v, error %d", n, topic, p.Partition, p.Leader, p.ISR, p.Replicas, p.ErrorCode)
				}
			}
		}
		return nil
	})
}

// Partitions is what a broker shows of a topic.
func (n *Node) Partitions(topic string) ([]kmsg.MetadataResponseTopicPartition, error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &topic
	req.Topics = append(req.Topics, t)
	resp, err := n.ask(n.Addr(), req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	topics := resp.(*kmsg.MetadataResponse).Topics
	if len(topics) != 1 || topics[0].ErrorCode != 0 || len(topics[0].Partitions) == 0 {
		return nil, fmt.Errorf("%s does not show %s: %+v", n, topic, topics)
	}
	return topics[0].Partitions, nil
}

// Eligible are the eligible leader replicas (KIP-966) of each partition of a topic, as a
// broker shows them.
func (n *Node) Eligible(topic string) (replicas map[int32][]int32, err error) {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	t := kmsg.NewDescribeTopicPartitionsRequestTopic()
	t.Topic = topic
	req.Topics = append(req.Topics, t)
	resp, err := n.ask(n.Addr(), req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	replicas = map[int32][]int32{}
	for _, t := range resp.(*kmsg.DescribeTopicPartitionsResponse).Topics {
		for _, p := range t.Partitions {
			replicas[p.Partition] = p.EligibleLeaderReplicas
		}
	}
	return replicas, nil
}

// Finalized is the level at which a broker shows a feature; 0 when it shows none.
func (n *Node) Finalized(feature string) (level int, err error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "itest", "1"
	resp, err := n.ask(n.Addr(), req)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", n, err)
	}
	for _, f := range resp.(*kmsg.ApiVersionsResponse).FinalizedFeatures {
		if f.Name == feature {
			level = int(f.MaxVersionLevel)
		}
	}
	return level, nil
}

// HasTopic tells whether a broker knows a topic.
func (n *Node) HasTopic(topic string) bool {
	partitions, err := n.Partitions(topic)
	return err == nil && len(partitions) > 0
}

// CreatePlaced creates a topic whose partitions have these replicas.
func (c *Cluster) CreatePlaced(name string, partitions [][]int32, configs map[string]string) {
	c.t.Helper()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
	for i, replicas := range partitions {
		topic.ReplicaAssignment = append(topic.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: replicas})
	}
	for k, v := range configs {
		topic.Configs = append(topic.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: k, Value: kmsg.StringPtr(v)})
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics, req.TimeoutMillis = append(req.Topics, topic), int32(itest.Stuck.Milliseconds())
	ctx, cancel := context.WithTimeout(context.Background(), itest.Stuck)
	defer cancel()
	resp, err := req.RequestWith(ctx, c.Client())
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		c.t.Fatalf("creating %s at %v: %v", name, partitions, err)
	}
}

// CreateAt creates a topic of one partition on one broker, writes some records to it,
// and gives their values, sorted.
func (c *Cluster) CreateAt(name string, broker int) (values []string) {
	c.t.Helper()
	c.CreatePlaced(name, [][]int32{{int32(broker)}}, nil)
	cl := c.Client(kgo.DefaultProduceTopic(name))
	defer cl.Close()
	for n := range 100 {
		values = append(values, fmt.Sprintf("value %02d", n))
		if err := cl.ProduceSync(context.Background(), kgo.StringRecord(values[n])).FirstErr(); err != nil {
			c.t.Fatal(err)
		}
	}
	return values
}
