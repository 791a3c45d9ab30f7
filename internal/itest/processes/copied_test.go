package processes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/itest"
)

// The snapshots of all controllers are damaged, so nobody can lead; whoever takes one of
// them for the leader is told that it is not. "Copy the newest .checkpoint file of a
// broker" into their folders, and they start in their old places with all that they had.
func TestControllersThatAllLostTheirSnapshotsStartWithABrokers(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, forgetful, nil)
	broker := c.StartBroker(t, 9, forgetful)
	admin := kadm.NewClient(client(t, c.Addrs()))
	startBySnapshot(t, c, admin)
	if _, err := admin.CreateTopic(patience(t), 1, 3, nil, "last"); err != nil {
		t.Fatal(err)
	}
	epoch := leaderEpoch(t, c)
	broker.Kill()
	itest.KillAll([]*itest.Proc{c.Nodes[0].Proc, c.Nodes[1].Proc, c.Nodes[2].Proc})
	for _, n := range c.Nodes {
		harmCheckpoints(t, n)
		n.Again(t)
	}
	for _, n := range c.Nodes {
		refusesAsNoLeader(t, n.Peers)
		n.Says(t, "waits for a leader's snapshot")
	}
	for _, n := range c.Nodes {
		n.Stop(t)
	}
	newest := slices.Max(checkpointsOf(t, broker))
	for _, n := range c.Nodes {
		b, err := os.ReadFile(newest)
		if err == nil {
			err = os.WriteFile(filepath.Join(metadataOf(n), filepath.Base(newest)), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		n.Again(t)
	}
	broker.Again(t)
	for _, n := range append(c.Nodes, broker) {
		n.AwaitReady(t)
	}
	if _, err := admin.CreateTopic(patience(t), 1, 3, nil, "after"); err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"before-7", "last", "after"} {
		allInSync(t, broker.Addr, topic)
	}
	if now := leaderEpoch(t, c); now <= epoch {
		t.Errorf("epoch %d after %d", now, epoch)
	}
}

// refusesAsNoLeader sees that a controller lists what the active one serves, and refuses
// it as one that does not lead.
func refusesAsNoLeader(t *testing.T, addr string) {
	t.Helper()
	register := kmsg.NewPtrControllerRegistrationRequest()
	itest.Eventually(t, func() error {
		got, err := client(t, addr).SeedBrokers()[0].Request(patience(t), register)
		if err != nil {
			return err
		}
		if code := kerr.Code(got.(*kmsg.ControllerRegistrationResponse).ErrorCode); code != kerr.NotController {
			return fmt.Errorf("it answers %s", code)
		}
		return nil
	})
}
