package interop

import (
	"fmt"
	"strconv"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// failingDirectories are the cells of row 3 in which a log directory fails that is not
// the one of the metadata log (KIP-858).
func failingDirectories() (cells []peer.Cell) {
	for _, controller := range []peer.Kind{peer.Ottla, peer.Kafka} {
		cells = append(cells, peer.Cell{
			Row: 3, Name: fmt.Sprintf("a log directory of either kind of broker fails on a controller of %s", short(controller)),
			Play: func(p *peer.Play) { directoriesFail(p, controller) },
		})
	}
	return cells
}

// smallDisk is the size of the directory that fails, in which there is little.
const smallDisk = 64 << 20

// directoriesFail has a directory fail at a broker of each kind. It loses what is in it,
// and nothing else; the broker starts again without it, and again with it.
func directoriesFail(p *peer.Play, controller peer.Kind) {
	c := peer.New(p, peer.Layout{
		Dirs: 3, Small: smallDisk,
		Nodes: []peer.Spec{
			{Kind: controller, Roles: peer.Controller},
			{Kind: peer.Kafka, Roles: peer.Broker}, {Kind: peer.Ottla, Roles: peer.Broker}, {Kind: peer.Ottla, Roles: peer.Broker},
		},
	})
	c.Start()
	c.CreateTopic("ledger", 12, 3, map[string]string{"min.insync.replicas": "2"})
	c.InSync("ledger", 3)
	g := c.Load("ledger")
	g.Moves()
	for _, n := range firstOfEachKind(brokersOf(c)) {
		p.Event(c, g, leadsAgain(p, c, n))
		p.Event(c, g, peer.Event{Name: fmt.Sprintf("a directory of the %s broker fails", short(n.Kind)), Lasts: 2 * sessionEnds, Happens: func(peer.View) {
			lost := n.Holds("ledger")
			if len(lost) == 0 {
				p.Fatalf("%s has nothing in its last directory", n)
			}
			n.Break()
			n.Lost("ledger", lost)
			g.Moves()
			wait(sessionEnds)
			n.Lost("ledger", lost)
			saysOffline(p, c, n)
			n.Stop()
			n.Start()
			n.Lost("ledger", lost)
			wait(sessionEnds)
			n.Lost("ledger", lost)
			n.Stop()
			n.Mend()
			n.Start()
		}})
	}
	p.End(c, g)
}

// saysOffline waits until a broker tells Kafka's tool that its last directory failed.
func saysOffline(p *peer.Play, c *peer.Cluster, n *peer.Node) {
	p.Helper()
	want := fmt.Sprintf(`"error":"org.apache.kafka.common.errors.KafkaStorageException","logDir":%s`, strconv.Quote(n.Last()))
	itest.Eventually(p, func() error {
		return (use{"kafka-log-dirs", fmt.Sprintf("--describe --broker-list %d", n.ID), want}).run(c, n)
	})
}
