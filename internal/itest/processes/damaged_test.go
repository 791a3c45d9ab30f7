package processes

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/itest"
)

// forgetful has controllers take snapshots all the time and keep no more of the
// metadata log than the latest one needs.
const forgetful = quick + `metadata.log.segment.ms=10
metadata.log.max.record.bytes.between.snapshots=500
metadata.max.retention.bytes=1
`

// A controller keeps nothing of the log before its latest snapshot, and that is
// damaged: it starts with the leader's, in its old place, and no election is held. If a
// majority is damaged there is no leader at first, but votes to elect one with.
func TestAControllerWithADamagedSnapshotTakesTheLeaders(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, forgetful, nil)
	admin := kadm.NewClient(client(t, c.Addrs()))
	startBySnapshot(t, c, admin)
	lead := c.Active(t)
	n := c.Nodes[lead.ID%3]
	n.Stop(t)
	harmCheckpoints(t, n)
	epoch := leaderEpoch(t, c)
	n.Again(t)
	n.AwaitReady(t)
	if _, err := admin.CreateTopic(patience(t), 1, 3, nil, "after"); err != nil {
		t.Fatal(err)
	}
	allInSync(t, n.Addr, "after")
	allInSync(t, n.Addr, "before-7")
	if now := leaderEpoch(t, c); now != epoch {
		t.Errorf("epoch %d after %d", now, epoch)
	}
	if aside, err := filepath.Glob(filepath.Join(metadataOf(n), "*.checkpoint.damaged")); err != nil || len(aside) == 0 {
		t.Error("the damaged snapshot is not kept:", err)
	}

	// Who stops last has the longest log. Of the two others one at least would refuse
	// whoever had a shorter one, and cannot lead itself.
	for _, n := range c.Nodes {
		n.Stop(t)
	}
	for _, n := range c.Nodes[:2] {
		harmCheckpoints(t, n)
		n.Again(t)
	}
	for _, n := range c.Nodes[:2] {
		turnsAway(t, n.Addr)
		answers(t, n.Peers)
	}
	c.Nodes[2].Again(t)
	for _, n := range c.Nodes {
		n.AwaitReady(t)
	}
	if _, err := admin.CreateTopic(patience(t), 1, 3, nil, "again"); err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"again", "after", "before-7"} {
		allInSync(t, c.Addrs(), topic)
	}
}

// turnsAway sees that a node closes a connection on which it serves nobody yet.
func turnsAway(t *testing.T, addr string) {
	t.Helper()
	itest.Eventually(t, func() error {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetReadDeadline(time.Now().Add(itest.Stuck)); err != nil {
			return err
		}
		if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("%s leaves who connects waiting", addr)
		}
		return nil
	})
}

// answers sees that a controller answers its peers.
func answers(t *testing.T, addr string) {
	t.Helper()
	itest.Eventually(t, func() error {
		_, err := client(t, addr).SeedBrokers()[0].Request(patience(t), askQuorum())
		return err
	})
}

// leaderEpoch is that of the quorum.
func leaderEpoch(t *testing.T, c *itest.Cluster) int32 {
	t.Helper()
	got, err := askQuorum().RequestWith(patience(t), client(t, c.Addrs()))
	if err != nil || len(got.Topics) != 1 || len(got.Topics[0].Partitions) != 1 {
		t.Fatal(got, err)
	}
	return got.Topics[0].Partitions[0].LeaderEpoch
}

func askQuorum() *kmsg.DescribeQuorumRequest {
	ask := kmsg.NewPtrDescribeQuorumRequest()
	ask.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: kafka.MetadataTopic, Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	return ask
}

// harmCheckpoints flips a bit in each snapshot of a node that is down.
func harmCheckpoints(t *testing.T, n *itest.Node) {
	t.Helper()
	for _, name := range checkpointsOf(t, n) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func exists(name string) bool { _, err := os.Stat(name); return err == nil }

func metadataOf(n *itest.Node) string { return filepath.Join(n.Data, "__cluster_metadata-0") }

func checkpointsOf(t *testing.T, n *itest.Node) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(metadataOf(n), "*.checkpoint"))
	if err != nil || len(all) == 0 {
		t.Fatal("no checkpoints:", err)
	}
	return all
}

// startBySnapshot makes topics until the log of no controller begins with its first
// record any more: what came before is in a snapshot alone.
func startBySnapshot(t *testing.T, c *itest.Cluster, admin *kadm.Client) {
	t.Helper()
	for i := range 20 {
		if _, err := admin.CreateTopic(patience(t), 10, 3, nil, fmt.Sprint("before-", i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range c.Nodes { // they clean once a minute
		itest.Eventually(t, func() error {
			if first := filepath.Join(metadataOf(n), "00000000000000000000.log"); exists(first) {
				return fmt.Errorf("%s is still there", first)
			}
			return nil
		})
	}
}
