package processes

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// startLoads starts three producers, which give up soon on a node that does not
// answer.
func startLoads(t *testing.T, c *itest.Cluster, topic string) []*load {
	t.Helper()
	var loads []*load
	for _, prefix := range []string{"a", "b", "c"} {
		loads = append(loads, startLoad(t, c.Addrs(), topic, prefix,
			kgo.ProduceRequestTimeout(2*time.Second), kgo.RequestTimeoutOverhead(time.Second)))
	}
	return loads
}

// settle ends the loads and checks what they leave: what was acknowledged is
// there once and in order, and all replicas are equal.
func settle(t *testing.T, c *itest.Cluster, topic string, partitions int, loads []*load) {
	t.Helper()
	var acked []string
	for _, l := range loads {
		l.progress(t, 100)
		acked = append(acked, l.stop(t)...)
	}
	for _, n := range c.Nodes {
		n.AwaitReady(t)
	}
	allInSync(t, c.Addrs(), topic)
	exactlyOnce(t, readAll(t, c.Addrs(), topic), acked)
	equalReplicas(t, c, topic, partitions, len(acked))
	equalMetadata(t, c)
}

const clusterKillRounds = 30

// Nothing that was acknowledged with acks=all is lost or doubled, whichever node
// is killed: every third time the one whose controller is active. Most come back
// at once and find their sessions still standing; every fifth stays away until
// the others have taken over.
func TestThirtyKillsInAClusterLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	random := seeded(t)
	c := itest.StartCluster(t, 3, quick, nil)
	createReplicated(t, c.Addrs(), "t", 3)
	loads := startLoads(t, c, "t")
	for round := range clusterKillRounds {
		loads[random.IntN(len(loads))].progress(t, 50+random.Int64N(500))
		victim := c.Nodes[random.IntN(len(c.Nodes))]
		if round%3 == 0 {
			victim = c.Active(t)
		}
		takeOver := round%5 == 4
		if takeOver { // else it may be the only one that can lead
			for _, n := range c.Nodes {
				n.AwaitReady(t)
			}
			allInSync(t, c.Addrs(), "t")
		}
		victim.Kill()
		if takeOver {
			for _, l := range loads {
				l.progress(t, 500+random.Int64N(500))
			}
		}
		victim.Again(t)
	}
	settle(t, c, "t", 3, loads)
}

const pauseRounds = 10

// A node that stops answering without closing its sockets is worked around, and
// what it still believes when it goes on does no harm.
func TestTenPausesInAClusterLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	random := seeded(t)
	c := itest.StartCluster(t, 3, quick, nil)
	createReplicated(t, c.Addrs(), "t", 3)
	loads := startLoads(t, c, "t")
	for round := range pauseRounds {
		victim := c.Nodes[random.IntN(len(c.Nodes))]
		if round%3 == 0 {
			victim = c.Active(t)
		}
		victim.Pause()
		// The others have to do without it: it is fenced, or outvoted.
		loads[random.IntN(len(loads))].progress(t, 1000+random.Int64N(1000))
		victim.Continue()
		loads[random.IntN(len(loads))].progress(t, 50+random.Int64N(500))
	}
	settle(t, c, "t", 3, loads)
}

const clusterLossRounds = 10

// The machine of one node loses what was not synced, again and again: what was
// acknowledged is held by another, and the node gets it back from there.
func TestTenLossesOnOneNodeOfAClusterLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	random := seeded(t)
	faults := t.TempDir()
	c := itest.StartCluster(t, 3, quick, func(id int) []string {
		if id != 1 {
			return nil
		}
		return []string{"--fault-dir", faults}
	})
	createReplicated(t, c.Addrs(), "t", 3)
	loads, victim := startLoads(t, c, "t"), c.Nodes[0]
	shorter := 0 // rounds
	for range clusterLossRounds {
		loads[random.IntN(len(loads))].progress(t, 50+random.Int64N(500))
		victim.Kill()
		before := logBytes(t, victim.Data)
		itest.Ottla(t, "", "fault", "drop-unsynced", "--fault-dir", faults, "--data", victim.Data, "--seed", fmt.Sprint(random.Uint64()))
		if logBytes(t, victim.Data) < before {
			shorter++
		}
		victim.Again(t)
		victim.AwaitReady(t)
	}
	if shorter == 0 {
		t.Errorf("in %d rounds nothing was lost", clusterLossRounds)
	}
	settle(t, c, "t", 3, loads)
}

// logBytes is the length of all logs of topic t in a data folder; the files may
// be lost too.
func logBytes(t *testing.T, data string) (sum int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, "t-*", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}
