package interop

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// brokers is row 3: brokers of both kinds on controllers of either.
func brokers() (cells []peer.Cell) {
	for _, m := range []struct {
		controller peer.Kind
		brokers    []peer.Kind
		quick      bool
	}{
		{peer.Ottla, []peer.Kind{peer.Kafka, peer.Kafka, peer.Ottla}, false},
		{peer.Ottla, []peer.Kind{peer.Kafka, peer.Ottla, peer.Ottla}, true},
		{peer.Kafka, []peer.Kind{peer.Kafka, peer.Ottla, peer.Ottla}, false},
		{peer.Kafka, []peer.Kind{peer.Ottla, peer.Ottla, peer.Ottla}, false},
	} {
		l := peer.Layout{Dynamic: m.controller == peer.Ottla, Nodes: []peer.Spec{{Kind: m.controller, Roles: peer.Controller}}}
		java := 0
		for _, k := range m.brokers {
			l.Nodes = append(l.Nodes, peer.Spec{Kind: k, Roles: peer.Broker})
			if k == peer.Kafka {
				java++
			}
		}
		cells = append(cells, peer.Cell{
			Row: 3, Name: fmt.Sprintf("%d Java brokers and %d of ours on a controller of %s", java, len(m.brokers)-java, short(m.controller)),
			Quick: m.quick, Play: func(p *peer.Play) { onController(p, l) },
		})
	}
	return cells
}

// onController plays what may happen to a broker, with one of each kind there is.
func onController(p *peer.Play, l peer.Layout) {
	c := peer.New(p, l)
	c.Start()
	kept := write(p, c, 3)
	c.CreateTopic("ledger", 6, 3, map[string]string{"min.insync.replicas": "2"})
	c.InSync("ledger", 3)
	g := c.Load("ledger")
	for _, n := range firstOfEachKind(c.Nodes[1:]) {
		faults := brokerFaults(p, c, n)
		if !*every {
			faults = faults[:2]
		}
		for _, e := range faults {
			p.Event(c, g, e)
		}
		p.Event(c, g, leadsAgain(p, c, n))
	}
	p.Event(c, g, moves(p, c))
	kept.check(p, c)
	p.End(c, g)
}

// firstOfEachKind are the first nodes of each kind.
func firstOfEachKind(nodes []*peer.Node) (some []*peer.Node) {
	for _, n := range nodes {
		if !slices.ContainsFunc(some, func(s *peer.Node) bool { return s.Kind == n.Kind }) {
			some = append(some, n)
		}
	}
	return some
}

// brokerFaults are what happens to a broker for longer than its session. None costs
// the quorum an epoch.
func brokerFaults(p *peer.Play, c *peer.Cluster, n *peer.Node) []peer.Event {
	fault := func(what string, act func()) peer.Event {
		return peer.Event{Name: fmt.Sprintf("%s broker %s", short(n.Kind), what), Lasts: sessionEnds, Happens: func(peer.View) { act() }}
	}
	return []peer.Event{
		fault("is killed", func() {
			n.Kill()
			wait(sessionEnds)
			leadsNothing(p, c, n)
			n.Start()
		}),
		fault("ends in good order", func() {
			n.Stop()
			leadsNothing(p, c, n)
			wait(sessionEnds)
			n.Start()
		}),
		fault("stands still", func() {
			n.Pause()
			wait(sessionEnds)
			leadsNothing(p, c, n)
			n.Continue()
		}),
		fault("is cut off", func() {
			n.Isolate()
			wait(sessionEnds)
			leadsNothing(p, c, n)
			n.Heal()
		}),
	}
}

// leadsNothing waits until no partition is led by a broker that is away: it has been
// fenced, or has handed over.
func leadsNothing(p *peer.Play, c *peer.Cluster, n *peer.Node) {
	p.Helper()
	other := c.Nodes[1]
	if other == n {
		other = c.Nodes[2]
	}
	itest.Eventually(p, func() error {
		partitions, err := other.Partitions("ledger")
		if err != nil {
			return err
		}
		for _, at := range partitions {
			if int(at.Leader) == n.ID || slices.Contains(at.ISR, int32(n.ID)) {
				return fmt.Errorf("%s, which is away, is in sync with partition %d, led by %d", n, at.Partition, at.Leader)
			}
		}
		return nil
	})
}

// leadsAgain gives a broker back the partitions that prefer it.
func leadsAgain(p *peer.Play, c *peer.Cluster, n *peer.Node) peer.Event {
	return peer.Event{Name: fmt.Sprintf("%s broker leads again", short(n.Kind)), Happens: func(peer.View) {
		itest.Eventually(p, func() error {
			ctx, cancel := context.WithTimeout(context.Background(), itest.Stuck)
			defer cancel()
			cl := c.Client()
			defer cl.Close()
			if _, err := kadm.NewClient(cl).ElectLeaders(ctx, kadm.ElectPreferredReplica, nil); err != nil {
				return err
			}
			partitions, err := n.Partitions("ledger")
			if err != nil {
				return err
			}
			for _, at := range partitions {
				if at.Leader != at.Replicas[0] {
					return fmt.Errorf("partition %d prefers %d and is led by %d", at.Partition, at.Replicas[0], at.Leader)
				}
			}
			return nil
		})
	}}
}

// moves takes a topic from one kind of broker to the other and back.
func moves(p *peer.Play, c *peer.Cluster) peer.Event {
	return peer.Event{Name: "partitions move between brokers", Happens: func(peer.View) {
		values := c.CreateAt("wanderer", c.Nodes[1].ID)
		for _, n := range []*peer.Node{c.Nodes[len(c.Nodes)-1], c.Nodes[1]} {
			cl := c.Client()
			ctx, cancel := context.WithTimeout(context.Background(), itest.Stuck)
			var req kadm.AlterPartitionAssignmentsReq
			req.Assign("wanderer", 0, []int32{int32(n.ID)})
			answer, err := kadm.NewClient(cl).AlterPartitionAssignments(ctx, req)
			cancel()
			if err == nil {
				err = answer.Error()
			}
			if err != nil {
				p.Fatal(err)
			}
			itest.Eventually(p, func() error {
				partitions, err := c.Nodes[1].Partitions("wanderer")
				if err == nil && (len(partitions[0].Replicas) != 1 || partitions[0].Leader != int32(n.ID)) {
					err = fmt.Errorf("the partition is at %v, led by %d", partitions[0].Replicas, partitions[0].Leader)
				}
				return err
			})
			cl.Close()
			if got := committed(p, c, "wanderer", len(values)); !slices.Equal(got, values) {
				p.Errorf("after the move to %s the topic holds %d records, not %d", n, len(got), len(values))
			}
		}
	}}
}
