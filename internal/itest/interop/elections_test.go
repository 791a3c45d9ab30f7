package interop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// elections are the cells of row 3 in which a partition has lost all replicas in sync:
// one of the eligible leader replicas leads (KIP-966), or whoever there is, uncleanly.
func elections() (cells []peer.Cell) {
	for _, controller := range []peer.Kind{peer.Ottla, peer.Kafka} {
		cells = append(cells, peer.Cell{
			Row: 3, Name: fmt.Sprintf("eligible replicas and unclean ones lead on a controller of %s", short(controller)),
			Play: func(p *peer.Play) { leadWithoutISR(p, controller) },
		})
	}
	return cells
}

// leadWithoutISR has brokers of both kinds end one after another until nobody is in
// sync, and start again in another order.
func leadWithoutISR(p *peer.Play, controller peer.Kind) {
	c := peer.New(p, peer.Layout{Dynamic: controller == peer.Ottla, Nodes: []peer.Spec{
		{Kind: controller, Roles: peer.Controller},
		{Kind: peer.Kafka, Roles: peer.Broker}, {Kind: peer.Ottla, Roles: peer.Broker}, {Kind: peer.Ottla, Roles: peer.Broker},
	}})
	c.Start()
	c.CreateTopic("ledger", 6, 3, map[string]string{"min.insync.replicas": "2"})
	c.InSync("ledger", 3)
	g := c.Load("ledger")
	c.Excuse("NotEnoughReplicasException") // what is produced then waits for a second replica
	java, ours, third := c.Node(2), c.Node(3), c.Node(4)
	for _, order := range [][2]*peer.Node{{java, ours}, {ours, java}} {
		next, last := order[0], order[1]
		p.Event(c, g, peer.Event{Name: fmt.Sprintf("an eligible replica of %s leads", short(next.Kind)), Happens: func(peer.View) {
			eligibleLeads(p, c, g, third, next, last)
		}})
		p.Event(c, g, peer.Event{Name: fmt.Sprintf("an unclean replica of %s leads", short(next.Kind)), Happens: func(peer.View) {
			uncleanLeads(p, c, next, last)
		}})
	}
	p.End(c, g)
}

// leaderless is how long a partition is seen to have no leader that may not have one:
// several rounds of what a controller does by itself about such partitions.
const leaderless = 5 * time.Second

// eligibleLeads has the brokers go in an order. The first lacks what is acknowledged
// then and must not lead when it is back. The next went when the last one was in sync
// alone, so that nothing was acknowledged any more: it may lead, and does.
func eligibleLeads(p *peer.Play, c *peer.Cluster, g *peer.Ledger, first, next, last *peer.Node) {
	p.Helper()
	first.Stop()
	g.Moves()
	next.Stop()
	last.Stop()
	first.Start()
	nobodyLeads(p, first, "ledger")
	eligible(p, first, "ledger", next, last)
	next.Start()
	for _, n := range []*peer.Node{first, next} {
		awaitLeader(p, n, "ledger", next)
	}
	last.Start()
}

// nobodyLeads waits until a broker shows a topic without leaders, and looks at it for a
// while.
func nobodyLeads(p *peer.Play, at *peer.Node, topic string) {
	p.Helper()
	check := func() error {
		partitions, err := at.Partitions(topic)
		if err != nil {
			return err
		}
		for _, s := range partitions {
			if s.Leader >= 0 {
				return fmt.Errorf("%s shows %s-%d led by %d, in sync %v", at, topic, s.Partition, s.Leader, s.ISR)
			}
		}
		return nil
	}
	itest.Eventually(p, check)
	wait(leaderless)
	if err := check(); err != nil {
		p.Error(err)
	}
}

// eligible wants a broker to show that two others may lead all of a topic.
func eligible(p *peer.Play, at *peer.Node, topic string, a, b *peer.Node) {
	p.Helper()
	elr, err := at.Eligible(topic)
	if err != nil || len(elr) == 0 {
		p.Fatalf("%s shows nothing of %s: %v", at, topic, err)
	}
	for partition, replicas := range elr {
		slices.Sort(replicas)
		if want := []int32{int32(min(a.ID, b.ID)), int32(max(a.ID, b.ID))}; !slices.Equal(replicas, want) {
			p.Errorf("%s shows that %v are eligible for %s-%d, not %v", at, replicas, topic, partition, want)
		}
	}
}

// uncleanLeads has a replica lead that lacks what another one alone has acknowledged:
// one that Kafka's tool asks for, and one that the topic allows. What is gone is gone
// everywhere when the other is back.
func uncleanLeads(p *peer.Play, c *peer.Cluster, next, last *peer.Node) {
	p.Helper()
	asked, allowed := fmt.Sprintf("asked-%d", next.ID), fmt.Sprintf("allowed-%d", next.ID)
	topics := []string{asked, allowed}
	for topic, unclean := range map[string]string{asked: "false", allowed: "true"} {
		c.CreatePlaced(topic, [][]int32{{int32(last.ID), int32(next.ID)}}, map[string]string{"min.insync.replicas": "1", "unclean.leader.election.enable": unclean})
		c.InSync(topic, 2)
		send(p, c, topic, "kept")
	}
	next.Stop()
	for _, topic := range topics {
		send(p, c, topic, "lost")
	}
	last.Stop()
	next.Start()
	awaitLeader(p, next, allowed, next)
	nobodyLeads(p, next, asked)
	elect := use{"kafka-leader-election", "--election-type unclean --partition 0 --topic " + asked, "Successfully completed leader election (UNCLEAN) for partitions " + asked + "-0"}
	if err := elect.run(c, next); err != nil {
		p.Error(err)
	}
	for _, topic := range topics {
		awaitLeader(p, next, topic, next)
		send(p, c, topic, "new")
	}
	last.Start()
	for _, topic := range topics {
		c.InSync(topic, 2)
		prefer := use{"kafka-leader-election", "--election-type preferred --partition 0 --topic " + topic, "for partitions " + topic + "-0"}
		if err := prefer.run(c, next); err != nil {
			p.Error(err)
		}
		awaitLeader(p, last, topic, last)
		want := slices.Sorted(slices.Values(append(lines("kept", some), lines("new", some)...)))
		if got := committed(p, c, topic, len(want)); !slices.Equal(got, want) {
			p.Errorf("%s, led by %s again, holds %d records, not the %d that the unclean leader had: %v", topic, last, len(got), len(want), got)
		}
	}
}

// some is how many records send writes.
const some = 20

func send(p *peer.Play, c *peer.Cluster, topic, prefix string) {
	p.Helper()
	cl := c.Client(kgo.DefaultProduceTopic(topic))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), itest.Stuck)
	defer cancel()
	for _, v := range lines(prefix, some) {
		if err := cl.ProduceSync(ctx, kgo.StringRecord(v)).FirstErr(); err != nil {
			p.Fatalf("%s to %s: %v", prefix, topic, err)
		}
	}
}

// awaitLeader waits until a broker shows that another leads all of a topic.
func awaitLeader(p *peer.Play, at *peer.Node, topic string, leader *peer.Node) {
	p.Helper()
	itest.Eventually(p, func() error {
		partitions, err := at.Partitions(topic)
		if err != nil {
			return err
		}
		for _, s := range partitions {
			if s.Leader != int32(leader.ID) {
				return fmt.Errorf("%s shows %s-%d led by %d, in sync %v; %s is to lead", at, topic, s.Partition, s.Leader, s.ISR, leader)
			}
		}
		return nil
	})
}
