package interop

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/compare"
	"github.com/ottla/ottla/internal/itest/peer"
)

// voterCells are the cells of row 1 in which the voters change, or one has to begin
// from a snapshot.
func voterCells() (cells []peer.Cell) {
	for _, leads := range []peer.Kind{peer.Ottla, peer.Kafka} {
		cell := func(name string, play func(*peer.Play, peer.Kind)) {
			cells = append(cells, peer.Cell{Row: 1, Name: fmt.Sprintf("%s led by %s", name, short(leads)), Play: func(p *peer.Play) { play(p, leads) }})
		}
		cell("voters of both kinds are added and removed", votersChange)
		cell("controllers of both kinds join by themselves", autoJoin)
		cell("kraft.version goes from 0 to 1", becomesDynamic)
		cell("a follower of the other kind begins from a snapshot", fromSnapshot)
	}
	for _, kinds := range [][]peer.Kind{{peer.Ottla, peer.Kafka, peer.Kafka}, {peer.Kafka, peer.Ottla, peer.Ottla}} {
		cells = append(cells, peer.Cell{
			Row: 1, Name: fmt.Sprintf("%s voter and two of %s hand over to each other", short(kinds[0]), short(kinds[1])),
			Play: func(p *peer.Play) { handsOver(p, kinds) },
		})
	}
	return cells
}

// handsOver has each leader end in good order, and one of the other kind follow it. That
// costs an epoch, and no more than that of a round that was split.
func handsOver(p *peer.Play, kinds []peer.Kind) {
	l := peer.Mix(peer.Combined, kinds...)
	l.Dynamic = true
	c := peer.New(p, l)
	watch := c.Watch()
	g := loaded(p, c, peer.Ottla)
	for _, to := range []peer.Kind{peer.Kafka, peer.Ottla, peer.Kafka, peer.Ottla} {
		p.Event(c, g, peer.Event{Name: short(to) + " takes over", Least: 1, Most: 1 + split, Happens: func(peer.View) {
			if v := c.LedBy(to); v.Leader.Kind != to {
				p.Errorf("%s leads", v.Leader)
			}
		}})
	}
	watch.OneLeaderAnEpoch()
	p.End(c, g)
}

// threeVoters are one Java node and two of ours, which are combined, and spares that
// are controllers of each kind.
func threeVoters(spare string) peer.Layout {
	l := peer.Mix(peer.Combined, peer.Kafka, peer.Ottla, peer.Ottla)
	l.Dynamic = true
	for _, k := range []peer.Kind{peer.Kafka, peer.Ottla} {
		l.Nodes = append(l.Nodes, peer.Spec{Kind: k, Roles: peer.Controller, Spare: true, More: spare})
	}
	return l
}

// loaded is a cluster that runs under load and is led by a kind.
func loaded(p *peer.Play, c *peer.Cluster, leads peer.Kind, later ...int) *peer.Ledger {
	p.Helper()
	for _, n := range c.Of(leads) {
		if !slices.Contains(later, n.ID) {
			n.Start()
		}
	}
	for _, n := range c.Nodes {
		if !n.Running() && !slices.Contains(later, n.ID) {
			n.Start()
		}
	}
	c.Ready()
	c.CreateTopic("ledger", 6, 3, map[string]string{"min.insync.replicas": "2"})
	c.InSync("ledger", 3)
	g := c.Load("ledger")
	c.LedBy(leads)
	c.InSync("ledger", 3)
	return g
}

// votes waits until the leader says that a node is, or is not, a voter.
func votes(t testing.TB, c *peer.Cluster, n *peer.Node, voter bool) {
	t.Helper()
	itest.Eventually(t, func() error {
		if v := c.Leader(); slices.Contains(v.Voters, n.ID) != voter {
			return fmt.Errorf("the voters are %v, and %s is to be one: %v", v.Voters, n, voter)
		}
		return nil
	})
}

// votersChange adds and removes a controller of each kind with Kafka's tool.
func votersChange(p *peer.Play, leads peer.Kind) {
	c := peer.New(p, threeVoters(""))
	g := loaded(p, c, leads)
	for _, n := range c.Nodes[3:] {
		p.Event(c, g, peer.Event{Name: short(n.Kind) + " controller is added", Happens: func(v peer.View) {
			itest.Eventually(p, func() error { // until it has caught up, as far as the leader knows
				out, err := c.Tool("kafka-metadata-quorum", "--bootstrap-controller", c.Leader().Leader.ControllerAddr(), "--command-config", n.File(), "add-controller")
				if err != nil {
					err = fmt.Errorf("%w: %s", err, out)
				}
				return err
			})
			votes(p, c, n, true)
		}})
	}
	for _, n := range c.Nodes[3:] {
		p.Event(c, g, peer.Event{Name: short(n.Kind) + " controller is removed and runs on", Lasts: faultFor, Happens: func(v peer.View) {
			out, err := c.Tool("kafka-metadata-quorum", "--bootstrap-controller", v.Leader.ControllerAddr(), "remove-controller",
				"--controller-id", strconv.Itoa(n.ID), "--controller-directory-id", n.Directory())
			if err != nil {
				p.Fatalf("%v: %s", err, out)
			}
			votes(p, c, n, false)
		}})
	}
	p.End(c, g)
}

// autoJoin has controllers of each kind become voters because their properties say so.
func autoJoin(p *peer.Play, leads peer.Kind) {
	c := peer.New(p, threeVoters("controller.quorum.auto.join.enable=true"))
	g := loaded(p, c, leads, 4, 5)
	for _, n := range c.Nodes[3:] {
		p.Event(c, g, peer.Event{Name: short(n.Kind) + " controller joins", Happens: func(v peer.View) {
			n.Start()
			votes(p, c, n, true)
		}})
	}
	p.End(c, g)
}

// becomesDynamic raises kraft.version with Kafka's tool, and restarts a node of each
// kind, which go on with it.
func becomesDynamic(p *peer.Play, leads peer.Kind) {
	c := peer.New(p, peer.Mix(peer.Combined, peer.Kafka, peer.Ottla, peer.Ottla))
	g := loaded(p, c, leads)
	p.Event(c, g, peer.Event{Name: "kraft.version becomes 1", Happens: func(v peer.View) {
		itest.Eventually(p, func() error { // until every voter has told the leader what it supports, F after it leads
			out, err := c.Tool("kafka-features", "--bootstrap-server", v.Leader.Addr(), "upgrade", "--feature", "kraft.version=1")
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		})
		describes := regexp.MustCompile(`kraft\.version\s.*FinalizedVersionLevel: 1`)
		itest.Eventually(p, func() error {
			out, err := c.Tool("kafka-features", "--bootstrap-server", v.Leader.Addr(), "describe")
			if err == nil && !describes.MatchString(out) {
				err = fmt.Errorf("kraft.version is not 1: %s", out)
			}
			return err
		})
	}})
	for _, n := range firstOfEachKind(c.Nodes) {
		most := 0
		if c.Settled().Leader == n {
			most = 1 + split
		}
		p.Event(c, g, peer.Event{Name: short(n.Kind) + " node restarts", Most: most, Happens: func(peer.View) {
			n.Stop()
			n.Start()
			c.Ready()
		}})
	}
	p.End(c, g)
}

// fromSnapshot takes the folders of a follower away whose leader is of the other kind,
// and has dropped the beginning of its log. That happens once a minute at most.
func fromSnapshot(p *peer.Play, leads peer.Kind) {
	l := peer.Mix(peer.Combined, peer.Kafka, peer.Ottla, peer.Ottla)
	l.More = "metadata.log.max.record.bytes.between.snapshots=2000\nmetadata.max.retention.bytes=1000"
	c := peer.New(p, l)
	g := loaded(p, c, leads)
	f := c.Node(1)
	if leads == peer.Kafka {
		f = c.Node(2)
	}
	p.Event(c, g, peer.Event{Name: short(f.Kind) + " follower begins from a snapshot", Happens: func(peer.View) {
		for tries := 0; ; tries++ {
			more(c, tries)
			wait(20 * time.Second)
			f.Stop()
			f.Wipe()
			f.Format()
			f.Start()
			c.Ready()
			log, err := compare.ReadLog(f.String(), f.Metadata())
			if err == nil && log.Start() > 0 {
				p.Logf("its log begins at %d", log.Start())
				return
			}
			if tries == 6 {
				p.Fatal("the leader has not dropped the beginning of its log")
			}
		}
	}})
	p.End(c, g)
}

// more creates topics, so that there is something to snapshot.
func more(c *peer.Cluster, round int) {
	for i := range 20 {
		c.CreateTopic(fmt.Sprintf("more-%d-%d", round, i), 3, 3, nil)
	}
}
