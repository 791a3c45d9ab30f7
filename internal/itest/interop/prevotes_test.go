package interop

import (
	"fmt"

	"github.com/ottla/ottla/internal/itest/peer"
)

// preVotes is row 2: voters of 3.9, which know no pre-votes (Y in KIP-996), beside
// ours (X), which do. A follower of either kind loses the leader and reaches the
// others. Then the old voters become 4.4 one by one, and the same costs nothing. Of
// this row continuous integration plays TestOldAndNewVotersElectOneLeaderAnEpoch.
func preVotes() (cells []peer.Cell) {
	for _, m := range []struct {
		old   int
		kinds []peer.Kind
	}{
		{1, []peer.Kind{peer.Kafka39, peer.Ottla, peer.Ottla}},
		{2, []peer.Kind{peer.Ottla, peer.Kafka39, peer.Kafka39}},
	} {
		for _, leads := range []peer.Kind{peer.Ottla, peer.Kafka39} {
			cells = append(cells, peer.Cell{
				Row: 2, Name: fmt.Sprintf("%d voters of 3.9 in three led by %s", m.old, short(leads)),
				Play: func(p *peer.Play) { disturbed(p, m.kinds, leads) },
			})
		}
	}
	return cells
}

// disturbances is how many epochs a follower without pre-votes may cost that loses the
// leader, or everybody, for as long as a fault lasts: it stands at most once in an
// election timeout, which is a second at least, and each time, or when it is back, takes
// the quorum along. Three voters of 3.9 alone lose as many.
const disturbances = 8

func disturbed(p *peer.Play, kinds []peer.Kind, leads peer.Kind) {
	l := peer.Mix(peer.Combined, kinds...)
	l.Release = peer.Kafka39.Release()
	c := peer.New(p, l)
	for _, n := range c.Of(leads) {
		n.Start()
	}
	c.Start()
	watch := c.Watch()
	c.CreateTopic("ledger", 6, 3, map[string]string{"min.insync.replicas": "2"})
	c.InSync("ledger", 3)
	g := c.Load("ledger")
	c.LedBy(leads)
	for i := range 2 {
		p.Event(c, g, loses(c, i, disturbances))
	}
	for _, n := range c.Of(peer.Kafka39) {
		e := peer.Event{Name: fmt.Sprintf("node %d becomes 4.4", n.ID), Most: 1 + split, Happens: func(peer.View) {
			n.Stop()
			n.As(peer.Kafka)
			n.Start()
			c.Ready()
		}}
		p.Event(c, g, e)
	}
	for i := range 2 {
		p.Event(c, g, loses(c, i, 0))
	}
	watch.OneLeaderAnEpoch()
	p.End(c, g)
}

// loses has one of two followers lose the leader and reach the other one.
func loses(c *peer.Cluster, which, most int) peer.Event {
	return peer.Event{Name: fmt.Sprintf("follower %d loses the leader", which+1), Lasts: faultFor, Most: most, Happens: func(v peer.View) {
		f := c.Others(v.Leader)[which]
		peer.Parted(f, v.Leader)
		wait(faultFor)
		peer.Joined(f, v.Leader)
	}}
}
