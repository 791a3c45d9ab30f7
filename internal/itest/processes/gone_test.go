package processes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/ottla/ottla/internal/itest"
)

// A broker that is killed loses its leaderships, although its session would go
// on for an hour: its process is proven to be gone. The same when the active
// controller dies with it, which held the connection of its heartbeats: the next
// one has the quorum's proof. It comes back and is in sync again.
func TestTheLeadersOfAKilledBrokerMoveAtOnce(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, "broker.session.timeout.ms=3600000\noffsets.topic.replication.factor=3\n", nil)
	createReplicated(t, c.Addrs(), "t", 6)
	for _, controllerToo := range []bool{false, true} {
		active := c.Active(t)
		victim := c.Nodes[active.ID%3]
		if controllerToo {
			victim = active
		}
		victim.Kill()
		leadersMove(t, c, "t", victim)
		victim.Again(t)
		victim.AwaitReady(t)
		allInSync(t, c.Addrs(), "t")
	}
}

// leadersMove waits until a topic has leaders and replicas in sync on the two
// nodes that are left.
func leadersMove(t *testing.T, c *itest.Cluster, topic string, victim *itest.Node) {
	t.Helper()
	var left []string
	for _, n := range c.Nodes {
		if n != victim {
			left = append(left, n.Addr)
		}
	}
	cl := kadm.NewClient(client(t, strings.Join(left, ",")))
	itest.Eventually(t, func() error {
		topics, err := cl.ListTopics(patience(t), topic)
		if err != nil {
			return err
		}
		for _, p := range topics[topic].Partitions {
			if p.Leader < 0 || p.Leader == int32(victim.ID) || len(p.ISR) != 2 {
				return fmt.Errorf("partition %d: leader %d, in sync %v, and %d is gone", p.Partition, p.Leader, p.ISR, victim.ID)
			}
		}
		return nil
	})
}
