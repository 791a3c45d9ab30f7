package processes

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/ottla/ottla/internal/itest"
)

// A broker that is killed loses its leaderships, although its session would go
// on for an hour: its process is proven to be gone. It comes back and is in sync
// again.
func TestTheLeadersOfAKilledBrokerMoveAtOnce(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, "broker.session.timeout.ms=3600000\noffsets.topic.replication.factor=3\n", nil)
	createReplicated(t, c.Addrs(), "t", 6)
	active := c.Active(t)
	victim, other := c.Nodes[active.ID%3], c.Nodes[(active.ID+1)%3]
	victim.Kill()
	cl := kadm.NewClient(client(t, active.Addr+","+other.Addr))
	itest.Eventually(t, func() error {
		topics, err := cl.ListTopics(patience(t), "t")
		if err != nil {
			return err
		}
		for _, p := range topics["t"].Partitions {
			if p.Leader < 0 || p.Leader == int32(victim.ID) || len(p.ISR) != 2 {
				return fmt.Errorf("partition %d: leader %d, in sync %v, and %d is gone", p.Partition, p.Leader, p.ISR, victim.ID)
			}
		}
		return nil
	})
	victim.Again(t)
	victim.AwaitReady(t)
	allInSync(t, c.Addrs(), "t")
}
