package interop

import (
	"fmt"
	"slices"

	"github.com/ottla/ottla/internal/itest/peer"
)

// step is that a node becomes one of another kind.
type step struct {
	node int
	to   peer.Kind
}

// steps are one after another.
func steps(to peer.Kind, nodes ...int) (all []step) {
	for _, n := range nodes {
		all = append(all, step{n, to})
	}
	return all
}

// replacement is row 4: nodes become others on their folders, one after another and
// under load.
func replacement() []peer.Cell {
	three := func(kinds ...peer.Kind) peer.Layout {
		l := peer.Mix(peer.Combined, kinds...)
		l.Dynamic = true
		return l
	}
	apart := peer.Layout{Nodes: []peer.Spec{
		{Kind: peer.Kafka, Roles: peer.Controller}, {Kind: peer.Kafka, Roles: peer.Broker}, {Kind: peer.Ottla, Roles: peer.Broker},
	}}
	return []peer.Cell{
		{Row: 4, Name: "three combined nodes one by one", Play: func(p *peer.Play) {
			replaced(p, three(peer.Kafka, peer.Kafka, peer.Kafka), slices.Concat(steps(peer.Ottla, 1, 2, 3), steps(peer.Kafka, 1, 2, 3)))
		}},
		{Row: 4, Name: "three combined nodes of which two are Java at most", Play: func(p *peer.Play) {
			replaced(p, three(peer.Kafka, peer.Kafka, peer.Ottla), []step{
				{1, peer.Ottla}, {2, peer.Ottla}, {3, peer.Kafka}, {1, peer.Kafka}, {3, peer.Ottla}, {2, peer.Kafka},
			})
		}},
		{Row: 4, Name: "the controller first and then a broker", Quick: true, Play: func(p *peer.Play) {
			replaced(p, apart, slices.Concat(steps(peer.Ottla, 1, 2), steps(peer.Kafka, 1, 2)))
		}},
		{Row: 4, Name: "a node whose features are lowered first", Play: lowered},
	}
}

// replaced plays steps: each node ends in good order, and goes on as another kind on
// its folders, which are several.
func replaced(p *peer.Play, l peer.Layout, way []step) {
	l.Dirs = 2
	c := peer.New(p, l)
	c.Start()
	brokers := len(c.Addrs())
	kept := write(p, c, int16(brokers))
	c.CreateTopic("ledger", 6, int16(brokers), map[string]string{"min.insync.replicas": fmt.Sprint(brokers - 1)})
	c.InSync("ledger", brokers)
	g := c.Load("ledger")
	for _, s := range way {
		n := c.Node(s.node)
		e := peer.Event{Name: fmt.Sprintf("node %d becomes %s", s.node, short(s.to)), Happens: func(peer.View) {
			n.Stop()
			n.As(s.to)
			n.Start()
			c.Ready()
		}}
		if c.Settled().Leader == n {
			e.Least, e.Most = 1, 1+split
		}
		p.Event(c, g, e)
		kept.check(p, c)
	}
	p.End(c, g)
}

// lowered takes a node that Apache Kafka has formatted with all its features to ours
// and back: the features that we do not serve are lowered with its tool first, and
// raised again in the end, as docs/migrate.md has it.
func lowered(p *peer.Play) {
	l := peer.Mix(peer.Combined, peer.Kafka)
	l.Dynamic, l.Dirs, l.AllFeatures = true, 2, true
	c := peer.New(p, l)
	c.Start()
	n := c.Node(1)
	kept := write(p, c, 1)
	c.CreateTopic("ledger", 3, 1, nil)
	g := c.Load("ledger")
	features := func(what string, args ...string) peer.Event {
		return peer.Event{Name: what, Happens: func(peer.View) {
			if out, err := c.Tool("kafka-features", append([]string{"--bootstrap-server", n.Addr()}, args...)...); err != nil {
				p.Fatalf("%v: %s", err, out)
			}
		}}
	}
	p.Event(c, g, features("features are lowered", "downgrade", "--feature", "group.version=0",
		"--feature", "transaction.version=0", "--feature", "share.version=0", "--feature", "streams.version=0"))
	for _, to := range []peer.Kind{peer.Ottla, peer.Kafka} {
		p.Event(c, g, peer.Event{Name: "it becomes " + short(to), Least: 1, Most: 1 + split, Happens: func(peer.View) {
			n.Stop()
			n.As(to)
			n.Start()
			c.Ready()
		}})
		kept.check(p, c)
	}
	p.Event(c, g, features("features are raised", "upgrade", "--release-version", "4.4"))
	p.End(c, g)
}
