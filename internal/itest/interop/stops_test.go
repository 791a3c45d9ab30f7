package interop

import (
	"testing"
	"time"

	"github.com/ottla/ottla/internal/itest/peer"
)

// All nodes of a cluster are told to stop at once. Every broker is let go, which
// takes a majority: voters of ours stay until it has happened, or a node of Apache
// Kafka would wait for minutes, longer than this test does.
func TestAllNodesStopAtOnce(t *testing.T) {
	for _, m := range []struct {
		name  string
		kinds []peer.Kind
	}{
		{"one of ours and two of Apache Kafka", []peer.Kind{peer.Ottla, peer.Kafka, peer.Kafka}},
		{"two of ours and one of Apache Kafka", []peer.Kind{peer.Ottla, peer.Ottla, peer.Kafka}},
		{"three of ours", []peer.Kind{peer.Ottla, peer.Ottla, peer.Ottla}},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			l := peer.Mix(peer.Combined, m.kinds...)
			l.Dynamic = true
			c := peer.New(t, l)
			for try, leads := range []peer.Kind{m.kinds[0], m.kinds[len(m.kinds)-1]} {
				c.Start()
				if try == 0 {
					c.CreateTopic("kept", 3, 3, nil)
				}
				v := c.LedBy(leads)
				c.InSync("kept", 3)
				began := time.Now()
				c.Stop()
				t.Logf("%s led; all nodes ended %v after they were told to", v.Leader, time.Since(began).Round(10*time.Millisecond))
				for _, n := range c.Of(peer.Ottla) {
					if n.Said("without the controller's consent") {
						t.Errorf("%s left without the controller's consent", n)
					}
				}
			}
		})
	}
}
