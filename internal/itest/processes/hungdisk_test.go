package processes

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// hangs is how long the disk hangs at least: far beyond the session of a broker, which
// quick sets to 1.5 s.
const hangs = 5 * time.Second

// A leader whose metadata disk hangs makes room for another (B7). It is a broker too,
// and goes on as one while the disk hangs, which may be for ever: its clients create
// topics, by way of the next controller, and write to the partition it leads; its
// heartbeats arrive, so that nobody takes that from it.
func TestABrokerGoesOnWhileItsMetadataDiskHangs(t *testing.T) {
	t.Parallel()
	disks := map[int]*itest.Disk{}
	c := itest.StartClusterOf(t, 3, func(id int) string {
		disks[id] = itest.NewDisk(t, 64)
		return quick + "metadata.log.dir=" + filepath.Join(disks[id].Dir, "metadata")
	}, nil)
	hung := c.Active(t)
	through, elsewhere := client(t, hung.Addr), client(t, c.Nodes[hung.ID%len(c.Nodes)].Addr)
	create(t, hung.Addr, "t", int32(len(c.Nodes)), map[string]string{"min.insync.replicas": "1"})
	seesAll(t, hung.Addr, []string{"t"})
	partition := ledBy(t, through, "t", hung)
	s := startStorm(t, hung.Addr, 2)
	s.each(t, "no topic yet", func(before, now creation) bool { return now.answered > before.answered+5 })
	disks[hung.ID].Hang(t)
	s.each(t, "waits for the controller whose disk hangs", func(before, now creation) bool { return now.answered >= before.sent })
	for began := time.Now(); time.Since(began) < hangs; {
		s.each(t, "no topic from the next controller", func(before, now creation) bool { return now.answered > before.answered+5 })
		if err := produceTo(t, through, "t", partition, idempotentBatch(-1, -1, -1, "v")); err != nil {
			t.Errorf("a record for a partition that the node leads: %v", err)
		}
		if p := described(t, elsewhere, "t").Partitions[partition]; int(p.Leader) != hung.ID {
			t.Fatalf("it was taken for dead: partition %d is led by %d", partition, p.Leader)
		}
	}
	disks[hung.ID].Answer(t)
	s.each(t, "no topic after the disk answers again", func(before, now creation) bool { return now.answered > before.answered+5 })
	close(s.stop)
	s.ended.Wait()
	seesAll(t, hung.Addr, s.acked)
}

// ledBy finds a partition of a topic that a node leads.
func ledBy(t *testing.T, cl *kgo.Client, topic string, n *itest.Node) int32 {
	t.Helper()
	for _, p := range described(t, cl, topic).Partitions.Sorted() {
		if int(p.Leader) == n.ID {
			return p.Partition
		}
	}
	t.Fatalf("node %d leads no partition of %s", n.ID, topic)
	panic("unreachable")
}
