package interop

import (
	"fmt"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/itest/peer"
)

// faultFor is how long a fault of the quorum lasts: several of the timers at which a
// follower misses its leader (2 s), a leader its followers (3 s), and a candidate
// stands again (2 s at most).
const faultFor = 8 * time.Second

// sessionEnds is longer than a broker's session (9 s), after which it is fenced.
const sessionEnds = 11 * time.Second

// quorums is row 1: voters of both kinds, static and dynamic, either kind leading. The
// kind of which there are fewer comes first: of followers that are equally far the
// leader that goes names the one with the lowest id first.
func quorums() (cells []peer.Cell) {
	for _, kinds := range [][]peer.Kind{
		{peer.Ottla, peer.Kafka, peer.Kafka},
		{peer.Kafka, peer.Ottla, peer.Ottla},
		{peer.Kafka, peer.Ottla, peer.Kafka, peer.Ottla, peer.Ottla},
		{peer.Ottla, peer.Kafka, peer.Ottla, peer.Kafka, peer.Kafka},
	} {
		for _, dynamic := range []bool{false, true} {
			for _, leads := range []peer.Kind{peer.Ottla, peer.Kafka} {
				q := quorumCell{layout: peer.Mix(peer.Combined, kinds...), leads: leads}
				q.layout.Dynamic = dynamic
				cells = append(cells, peer.Cell{Row: 1, Name: q.name(), Quick: q.quick(), Play: q.play})
			}
		}
	}
	return cells
}

// quorumCell is a quorum to which faults happen while a kind leads it.
type quorumCell struct {
	layout peer.Layout
	leads  peer.Kind
}

// of is how many nodes of the layout are of a kind.
func (q quorumCell) of(k peer.Kind) (n int) {
	for _, s := range q.layout.Nodes {
		if s.Kind == k {
			n++
		}
	}
	return n
}

func (q quorumCell) name() string {
	voters := "static"
	if q.layout.Dynamic {
		voters = "dynamic"
	}
	return fmt.Sprintf("%d ottla and %d Java %s voters led by %s", q.of(peer.Ottla), q.of(peer.Kafka), voters, short(q.leads))
}

// short is a kind in the name of a cell.
func short(k peer.Kind) string {
	if k == peer.Kafka {
		return "Java"
	}
	return strings.TrimPrefix(k.String(), "Apache Kafka ")
}

// quick is one cell: other rows have static voters, and are led by Java.
func (q quorumCell) quick() bool {
	return len(q.layout.Nodes) == 3 && q.layout.Dynamic && q.leads == peer.Ottla && q.of(peer.Ottla) == 1
}

func (q quorumCell) play(p *peer.Play) {
	c := peer.New(p, q.layout)
	c.Excuse("NotEnoughReplicasException") // leaders that hand over in a row may be two replicas of three
	for _, n := range c.Of(q.leads) {
		n.Start() // who is first is likely to lead
	}
	c.Start()
	watch := c.Watch()
	c.CreateTopic("ledger", 6, 3, map[string]string{"min.insync.replicas": "2"})
	c.InSync("ledger", 3)
	g := c.Load("ledger")
	for _, e := range faults(p, c) {
		c.LedBy(q.leads)
		c.InSync("ledger", 3)
		p.Event(c, g, e)
	}
	watch.OneLeaderAnEpoch()
	p.End(c, g)
}

// split is how many epochs more an election may cost that Java voters take part in:
// two of them may campaign in one epoch and split the votes.
const split = 1

// faults are what happens to every quorum of row 1.
func faults(p *peer.Play, c *peer.Cluster) []peer.Event {
	follower := func(v peer.View) *peer.Node { return c.Others(v.Leader)[0] }
	alone := 0 // what a follower costs that comes back, having stood for election alone
	if len(c.Of(peer.Kafka39)) > 0 {
		alone = disturbances
	}
	return []peer.Event{
		{Name: "the leader is killed", Lasts: faultFor, Least: 1, Most: 1 + split, Happens: func(v peer.View) {
			v.Leader.Kill()
			c.Leader()
			v.Leader.Start()
		}},
		{Name: "the leader ends in good order", Lasts: faultFor, Least: 1, Most: 1 + split, Happens: func(v peer.View) {
			v.Leader.Stop()
			c.Leader()
			v.Leader.Start()
		}},
		{Name: "the leader stands still", Lasts: faultFor, Least: 1, Most: 1 + split, Happens: func(v peer.View) {
			v.Leader.Pause()
			wait(faultFor)
			v.Leader.Continue()
		}},
		{Name: "a follower is cut off", Lasts: faultFor, Most: alone, Happens: func(v peer.View) {
			f := follower(v)
			f.Isolate()
			wait(faultFor)
			f.Heal()
		}},
		{Name: "the leader is cut off, with a record that nobody else has", Lasts: faultFor, Least: 1, Most: 1 + split, Happens: func(v peer.View) {
			v.Leader.Isolate()
			if err := v.Leader.AskToCreate("never"); err == nil {
				p.Error("a leader that was cut off created a topic")
			}
			wait(faultFor)
			v.Leader.Heal()
			for _, n := range c.Nodes {
				if n.HasTopic("never") {
					p.Errorf("%s has a topic that was never committed", n)
				}
			}
		}},
	}
}

// wait lets time pass in which a fault lasts.
func wait(d time.Duration) { <-time.After(d) }
