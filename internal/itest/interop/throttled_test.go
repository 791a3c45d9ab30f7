package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// throttledMoves are the cells of row 3 with replication quotas (KIP-73).
func throttledMoves() []peer.Cell {
	return []peer.Cell{{Row: 3, Name: "throttled reassignments between the kinds", Play: throttledBothWays}}
}

// throttledBothWays has Kafka's tool move a partition between the kinds at a byte a
// second. That goes on for ever, while other partitions of the same brokers take what
// is written with acks=all. With a rate that lets it through it ends, and the tool takes
// the throttle away.
func throttledBothWays(p *peer.Play) {
	c := peer.New(p, peer.Mix(peer.Combined, peer.Kafka, peer.Ottla, peer.Ottla))
	c.Start()
	c.CreateTopic("ledger", 3, 3, nil)
	c.InSync("ledger", 3)
	g := c.Load("ledger")
	java, ours := c.Of(peer.Kafka)[0], c.Of(peer.Ottla)
	b := newBallast(p, c, ours[0].ID)
	p.Event(c, g, peer.Event{Name: "throttled move from ours to Java", Happens: func(peer.View) { b.move(g, ours[0], java) }})
	p.Event(c, g, peer.Event{Name: "throttled move from Java to ours", Happens: func(peer.View) { b.move(g, java, ours[1]) }})
	b.complete()
	p.End(c, g)
}

// ballast is a topic of one partition that is too large for a few fetches.
type ballast struct {
	p      *peer.Play
	c      *peer.Cluster
	values []string
}

const ballastTopic = "ballast"

func newBallast(p *peer.Play, c *peer.Cluster, broker int) *ballast {
	b := &ballast{p: p, c: c}
	c.CreatePlaced(ballastTopic, [][]int32{{int32(broker)}}, nil)
	cl := c.Client(kgo.DefaultProduceTopic(ballastTopic), kgo.ProducerBatchCompression(kgo.NoCompression()))
	for n := range 8 {
		v := fmt.Sprintf("%d %s", n, strings.Repeat("x", 900_000))
		if err := cl.ProduceSync(context.Background(), kgo.StringRecord(v)).FirstErr(); err != nil {
			p.Fatal(err)
		}
		b.values = append(b.values, v)
	}
	return b
}

// move moves the ballast, first far too slowly. The tool is told at the broker that
// gives it away.
func (b *ballast) move(g *peer.Ledger, from, to *peer.Node) {
	b.p.Helper()
	plan := " --reassignment-json-file " + itest.WriteFile(b.p, "plan.json",
		fmt.Sprintf(`{"version":1,"partitions":[{"topic":%q,"partition":0,"replicas":[%d]}]}`, ballastTopic, to.ID))
	tell := func(tool, args, says string) {
		b.p.Helper()
		if err := (use{tool, args, says}).run(b.c, from); err != nil {
			b.p.Fatal(err)
		}
	}
	tell("kafka-reassign-partitions", "--execute --throttle 1"+plan, "Successfully started partition reassignment")
	tell("kafka-configs", fmt.Sprintf("--describe --entity-type brokers --entity-name %d", to.ID), "follower.replication.throttled.rate=1 ")
	for range 3 {
		g.Moves()
	}
	tell("kafka-reassign-partitions", "--verify"+plan, "Reassignment of partition "+ballastTopic+"-0 is still in progress")
	if held, err := from.Partitions(ballastTopic); err != nil || !slices.Equal(held[0].ISR, []int32{int32(from.ID)}) {
		b.p.Errorf("throttled from %s to %s: %+v %v", from, to, held, err)
	}
	tell("kafka-reassign-partitions", "--execute --additional --throttle 1000000000"+plan, "Successfully started partition reassignment")
	itest.Eventually(b.p, func() error { return b.only(to) })
	tell("kafka-reassign-partitions", "--verify"+plan, "Clearing broker-level throttles")
	b.unthrottled()
}

// only tells whether the ballast is at one broker and nowhere else.
func (b *ballast) only(at *peer.Node) error {
	now, err := at.Partitions(ballastTopic)
	if err == nil && (!slices.Equal(now[0].Replicas, []int32{int32(at.ID)}) || now[0].Leader != int32(at.ID)) {
		err = fmt.Errorf("%s-0 is at %v, led by %d", ballastTopic, now[0].Replicas, now[0].Leader)
	}
	return err
}

// unthrottled waits until no setting of a broker or of the topic speaks of a throttle.
func (b *ballast) unthrottled() {
	b.p.Helper()
	for _, args := range []string{"--describe --entity-type brokers", "--describe --entity-type topics --entity-name " + ballastTopic} {
		itest.Eventually(b.p, func() error {
			out, err := b.c.Tool("kafka-configs", append([]string{"--bootstrap-server", b.c.Nodes[0].Addr()}, strings.Fields(args)...)...)
			if err == nil && strings.Contains(out, "throttled") {
				err = fmt.Errorf("%s: %s", args, out)
			}
			return err
		})
	}
}

// complete reads the ballast.
func (b *ballast) complete() {
	b.p.Helper()
	cl := b.c.Client(kgo.ConsumeTopics(ballastTopic))
	var got []string
	itest.Eventually(b.p, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), itest.Stuck)
		defer cancel()
		fetched := cl.PollFetches(ctx)
		fetched.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
		if len(got) < len(b.values) {
			return fmt.Errorf("read %d of %d records: %v", len(got), len(b.values), fetched.Err())
		}
		return nil
	})
	if !slices.Equal(got, b.values) {
		b.p.Errorf("the ballast is not what was written: %d records", len(got))
	}
}
