package interop

import (
	"fmt"

	"github.com/ottla/ottla/internal/itest/peer"
)

// older is row 6: nodes of ours beside each older release, at its own
// metadata.version: a quorum, a pair of brokers, and a folder that goes to and fro.
func older() (cells []peer.Cell) {
	for i, k := range []peer.Kind{peer.Kafka39, peer.Kafka40, peer.Kafka41, peer.Kafka43} {
		name := func(what string) string { return fmt.Sprintf("%s %s", k.Release(), what) }
		cells = append(cells,
			peer.Cell{Row: 6, Name: name("votes with two of ours"), Play: func(p *peer.Play) { oldVoter(p, k) }},
			peer.Cell{Row: 6, Name: name("and ours are a pair of brokers"), Play: func(p *peer.Play) { pair(p, k) }},
			peer.Cell{Row: 6, Name: name("formats and a folder goes to and fro"), Quick: i == 2, Play: func(p *peer.Play) {
				swapped(p, k, k, k.Release(), false)
			}},
		)
	}
	return cells
}

// oldVoter is a quorum of two nodes of ours and an older one, with faults.
func oldVoter(p *peer.Play, k peer.Kind) {
	l := peer.Mix(peer.Combined, k, peer.Ottla, peer.Ottla)
	l.Release = k.Release()
	quorumCell{layout: l, leads: peer.Ottla}.play(p)
}

// pair is a node of ours that is the controller, too, and an older broker, which
// replicate each other's partitions, while either is killed.
func pair(p *peer.Play, k peer.Kind) {
	l := peer.Layout{Release: k.Release(), Nodes: []peer.Spec{
		{Kind: peer.Ottla, Roles: peer.Combined}, {Kind: k, Roles: peer.Broker},
	}}
	c := peer.New(p, l)
	c.Start()
	kept := write(p, c, 2)
	c.CreateTopic("ledger", 6, 2, nil)
	c.InSync("ledger", 2)
	g := c.Load("ledger")
	for _, n := range []*peer.Node{c.Node(2), c.Node(1)} {
		e := peer.Event{Name: fmt.Sprintf("%s is killed", short(n.Kind)), Lasts: sessionEnds, Happens: func(peer.View) {
			n.Kill()
			wait(sessionEnds)
			n.Start()
		}}
		if n.Roles.Controls() {
			e.Least, e.Most = 1, 1
		}
		p.Event(c, g, e)
		kept.check(p, c)
	}
	p.End(c, g)
}
