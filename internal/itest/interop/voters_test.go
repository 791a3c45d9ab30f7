package interop

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/ottla/ottla/internal/itest"
	"github.com/ottla/ottla/internal/itest/peer"
)

// oneVoter is a quorum of ours that begins with one voter, a combined node, and so
// many controllers beside it that are none yet.
func oneVoter(t *testing.T, spares int) *peer.Cluster {
	t.Helper()
	l := peer.Mix(peer.Combined, peer.Ottla)
	l.Dynamic = true
	for range spares {
		l.Nodes = append(l.Nodes, peer.Spec{Kind: peer.Ottla, Roles: peer.Controller, Spare: true})
	}
	c := peer.New(t, l)
	c.Start()
	return c
}

// A controller of ours joins a quorum of ours and leaves it, by Kafka's tool
// and by ours, asked at a controller and at a broker (KIP-853).
func TestControllersAreAddedAndRemoved(t *testing.T) {
	t.Parallel()
	c := oneVoter(t, 1)
	first, second := c.Node(1), c.Node(2)
	becomes := func(status string) {
		t.Helper()
		line := regexp.MustCompile(`(?m)^2\s.*\s` + status + `\s*$`)
		itest.Eventually(t, func() error {
			out, err := c.Ottla("metadata-quorum", "describe", "--replication", "-b", first.Addr())
			if err != nil || !line.MatchString(out) {
				return fmt.Errorf("node 2 is not %s: %w\n%s", status, err, out)
			}
			return nil
		})
	}
	dir := second.Directory()
	becomes("Observer")
	must := func(out string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return out
	}
	kafkas := func(args ...string) (string, error) { return c.Tool("kafka-metadata-quorum", args...) }
	ours := func(args ...string) string {
		t.Helper()
		return must(c.Ottla(append(append([]string{"metadata-quorum"}, args...), "-b", first.Addr())...))
	}
	// The tool takes a voter's word for having caught up as late as its leader
	// does: until then it is told to come again.
	itest.Eventually(t, func() error {
		out, err := kafkas("--bootstrap-controller", first.ControllerAddr(), "--command-config", second.File(), "add-controller")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	becomes("Follower")
	says(t, must(kafkas("--bootstrap-server", first.Addr(), "describe", "--status")), `CurrentVoters:.*"id": 1.*"id": 2`, `LeaderEpoch:\s+1`)
	must(kafkas("--bootstrap-server", first.Addr(), "remove-controller", "--controller-id", "2", "--controller-directory-id", dir))
	becomes("Observer")
	says(t, ours("add-controller", "-c", second.File()), "Added controller 2 with directory id "+dir)
	becomes("Follower")
	says(t, ours("remove-controller", "-i", "2", "-d", dir), "Removed KRaft controller 2 with directory id "+dir)
	becomes("Observer")
	second.Stop()
}

// kraft.version is raised by Kafka's tool, and a restarted node goes on with it
// (KAFKA-16538).
func TestKafkasToolRaisesKRaftVersion(t *testing.T) {
	d := itest.StartDev(t)
	says(t, tool(t, d, "kafka-features", "describe"), `kraft.version\s+.*FinalizedVersionLevel: 0`)
	says(t, tool(t, d, "kafka-features", "upgrade", "--feature", "kraft.version=1"), `kraft.version was upgraded to 1`)
	if code := d.Stop(t); code != 0 {
		t.Errorf("the exit status is %d", code)
	}
	d.Again(t)
	says(t, tool(t, d, "kafka-features", "describe"), `kraft.version\s+.*FinalizedVersionLevel: 1`)
	says(t, tool(t, d, "kafka-metadata-quorum", "describe", "--status"), `CurrentVoters:.*"id": 1, "directoryId"`)
}
