package interop

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// transactions is the cell of row 3 in which brokers of Apache Kafka coordinate
// transactions, and both kinds lead the partitions that are written to.
func transactions() []peer.Cell {
	return []peer.Cell{{Row: 3, Name: "transactions of a Java coordinator", Quick: true, Play: playTransactions}}
}

// The partitions of topic txn are led by each node in turn. Three transactional
// producers write to all of them, and their transactions overlap, end in another
// order than they began, and are committed and aborted; one stays open. Leaders of
// both kinds, and the coordinator, are killed while transactions are open, and lead
// in turn afterwards. Who reads committed records sees exactly those, in the order
// in which they were acknowledged, whoever leads.
func playTransactions(p *peer.Play) {
	c := peer.New(p, peer.Mix(peer.Combined, peer.Ottla, peer.Ottla, peer.Kafka))
	c.Start()
	java := c.Of(peer.Kafka)[0]
	place(p, c, "__transaction_state", [][]int32{{3}, {3}, {3}}, map[string]string{"cleanup.policy": "compact"})
	place(p, c, "__consumer_offsets", [][]int32{{3, 1, 2}, {3, 1, 2}, {3, 1, 2}}, map[string]string{"cleanup.policy": "compact"})
	place(p, c, txnTopic, [][]int32{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}}, map[string]string{"min.insync.replicas": "2"})
	c.CreateTopic("ledger", 3, 3, map[string]string{"min.insync.replicas": "2"})
	for _, topic := range []string{txnTopic, "ledger", "__consumer_offsets"} {
		c.InSync(topic, 3)
	}
	g := c.Load("ledger")
	b := newBook(p, c, 3)
	b.spread()
	b.overlap(4)
	b.verify("overlapping transactions")
	p.Event(c, g, peer.Event{Name: "a leader of ours is killed in transactions", Lasts: faultFor, Most: 1 + split, Happens: func(peer.View) {
		end := b.during()
		c.Node(1).Kill()
		end()
		c.Node(1).Start()
	}})
	b.verify("a leader of ours was killed")
	p.Event(c, g, peer.Event{Name: "the coordinator is killed in transactions", Lasts: faultFor, Most: 1 + split, Happens: func(peer.View) {
		end := b.during()
		java.Kill()
		b.verifyCommitted("all is led by ours, and the coordinator is gone")
		java.Start()
		c.Ready()
		end()
	}})
	b.verify("the coordinator was killed")
	for _, leader := range []int32{3, 1} { // Apache Kafka, and then one of ours, leads all of it
		b.lead(txnTopic, leader)
		b.overlap(2)
		b.verify(fmt.Sprintf("node %d leads", leader))
	}
	b.refusals()
	b.spread()
	b.offsets()
	b.verify("in the end")
	p.End(c, g)
	b.sameOnDisk()
}

// txnTopic is what transactions write to.
const txnTopic = "txn"

// place makes a topic whose partitions have the replicas given.
func place(p *peer.Play, c *peer.Cluster, name string, replicas [][]int32, configs map[string]string) {
	p.Helper()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
	for i, r := range replicas {
		topic.ReplicaAssignment = append(topic.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: r})
	}
	for k, v := range configs {
		topic.Configs = append(topic.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: k, Value: kmsg.StringPtr(v)})
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics, req.TimeoutMillis = append(req.Topics, topic), 10_000
	resp, err := c.Client().Request(context.Background(), req)
	if err != nil {
		p.Fatal(err)
	}
	if code := kerr.Code(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode); code != kerr.None {
		p.Fatalf("create %s: %v", name, code)
	}
}

// lead has a node lead all partitions of a topic.
func (b *book) lead(topic string, node int32) {
	b.p.Helper()
	b.elect(topic, func(int32) int32 { return node })
}

// spread has each node lead a partition of the topic again.
func (b *book) spread() {
	b.p.Helper()
	b.elect(txnTopic, func(n int32) int32 { return n + 1 })
}

// elect makes nodes the preferred leaders of partitions, and has them lead.
func (b *book) elect(topic string, leader func(n int32) int32) {
	b.p.Helper()
	admin := kadm.NewClient(b.plain)
	var req kadm.AlterPartitionAssignmentsReq
	var set kadm.TopicsSet
	for n := range b.count {
		first := leader(n)
		req.Assign(topic, n, []int32{first, first%3 + 1, (first+1)%3 + 1})
		set.Add(topic, n)
	}
	itest.Eventually(b.p, func() error {
		ctx, cancel := bounded()
		defer cancel()
		if _, err := admin.AlterPartitionAssignments(ctx, req); err != nil {
			return err
		}
		if _, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, set); err != nil {
			return err
		}
		return b.led(topic, leader)
	})
}

// led tells why other nodes lead a topic, or not all replicas are in sync.
func (b *book) led(topic string, leader func(n int32) int32) error {
	for _, n := range b.c.Nodes {
		partitions, err := n.Partitions(topic)
		if err != nil {
			return err
		}
		for _, part := range partitions {
			if part.Leader != leader(part.Partition) || len(part.ISR) < 3 {
				return fmt.Errorf("%s-%d is led by %d, in sync %v, as %s knows", topic, part.Partition, part.Leader, part.ISR, n)
			}
		}
	}
	return nil
}

// overlap writes rounds of transactions that are open at the same time, with records
// of nobody's transaction between them. Two of three are committed.
func (b *book) overlap(rounds int) {
	b.p.Helper()
	for round := range rounds {
		var open []*transaction
		for i := range b.producers {
			open = append(open, b.begin(i))
			b.writeAll(open...)
			b.writeAll(nil)
		}
		for i := range open { // the last one ends first every other time
			if round%2 == 1 {
				i = len(open) - 1 - i
			}
			b.end(open[i], (i+round)%3 != 0)
			b.writeAll(nil)
		}
	}
}

// during begins transactions, writes in them, and gives what ends them later: the
// first is committed, the second aborted. The third stays open for longer: nothing
// behind its first records is seen until it has ended.
func (b *book) during() (end func()) {
	b.p.Helper()
	var open []*transaction
	for i := range b.producers {
		open = append(open, b.begin(i))
		b.writeAll(open...)
	}
	return func() {
		b.p.Helper()
		b.end(open[0], true)
		b.end(open[1], false)
		b.writeAll(nil)
		b.verifyCommitted("one transaction is open")
		b.end(open[2], true)
	}
}

// sameOnDisk compares the replicas of the topic byte by byte, with what they know of
// aborted transactions, once all nodes have ended.
func (b *book) sameOnDisk() {
	b.p.Helper()
	for n := range b.count {
		for _, suffix := range []string{".log", ".txnindex"} {
			var first string
			for _, node := range b.c.Nodes {
				all := joined(b.p, node.Dirs[0], fmt.Sprintf("%s-%d", txnTopic, n), suffix)
				switch {
				case all == "":
					b.p.Errorf("%s has no %s of %s-%d", node, suffix, txnTopic, n)
				case first == "":
					first = all
				case all != first:
					b.p.Errorf("%s has another %s of %s-%d than node 1: %d bytes and %d", node, suffix, txnTopic, n, len(all), len(first))
				}
			}
		}
	}
}

// client is a client that writes to the partition that a record names.
func (b *book) client(opts ...kgo.Opt) *kgo.Client {
	return b.c.Client(append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())...)
}

// value names a record by who wrote it, its transaction and its number.
func value(parts ...any) string { return strings.TrimSpace(fmt.Sprintln(parts...)) }
