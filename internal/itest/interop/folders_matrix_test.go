package interop

import (
	"fmt"

	"github.com/ottla/ottla/internal/itest/peer"
)

// folders is row 5: one node, whose folder one kind formats and the other starts.
func folders() (cells []peer.Cell) {
	for _, formats := range []peer.Kind{peer.Ottla, peer.Kafka} {
		for _, killed := range []bool{false, true} {
			end := "a clean stop"
			if killed {
				end = "kill -9"
			}
			cells = append(cells, peer.Cell{
				Row: 5, Name: fmt.Sprintf("%s formats and the other starts after %s", short(formats), end),
				Quick: killed && formats == peer.Ottla,
				Play:  func(p *peer.Play) { swapped(p, formats, peer.Kafka, "", killed) },
			})
		}
	}
	return cells
}

// swapped has one node live three lives on one folder under load: as the kind that
// did not format it, as the other, and as the first again. java is the release of
// Apache Kafka that takes part, release the metadata.version.
func swapped(p *peer.Play, formats, java peer.Kind, release string, killed bool) {
	l := peer.Mix(peer.Combined, formats)
	l.Release, l.Dynamic, l.Dirs = release, killed, 2
	c := peer.New(p, l)
	n := c.Node(1)
	other := func() peer.Kind {
		if n.Kind == peer.Ottla {
			return java
		}
		return peer.Ottla
	}
	n.As(other())
	c.Start()
	kept := write(p, c, 1)
	c.CreateTopic("ledger", 3, 1, nil)
	g := c.Load("ledger")
	for range 2 {
		to := other()
		p.Event(c, g, peer.Event{Name: "it becomes " + short(to), Least: 1, Most: 1 + split, Happens: func(peer.View) {
			if killed {
				n.Kill()
			} else {
				n.Stop()
			}
			n.As(to)
			n.Start()
			c.Ready()
		}})
		kept.check(p, c)
	}
	p.End(c, g)
}
