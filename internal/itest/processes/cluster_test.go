package processes

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// quick lets a cluster notice dead members within seconds.
const quick = `broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=300
replica.lag.time.max.ms=3000
offsets.topic.replication.factor=3
`

// createReplicated makes a topic with three replicas, of which two have to be in
// sync, and waits until all are.
func createReplicated(t *testing.T, c *itest.Cluster, topic string, partitions int32) {
	t.Helper()
	two := "2"
	cl := kadm.NewClient(client(t, c.Addrs()))
	if _, err := cl.CreateTopic(patience(t), partitions, 3, map[string]*string{"min.insync.replicas": &two}, topic); err != nil {
		t.Fatal(err)
	}
	allInSync(t, c, topic)
}

// allInSync waits until every partition has its three replicas in sync.
func allInSync(t *testing.T, c *itest.Cluster, topic string) {
	t.Helper()
	cl := kadm.NewClient(client(t, c.Addrs()))
	itest.Eventually(t, func() error {
		topics, err := cl.ListTopics(patience(t), topic)
		if err != nil {
			return err
		}
		for _, p := range topics[topic].Partitions {
			if len(p.ISR) < 3 {
				return fmt.Errorf("partition %d: leader %d, in sync are %v of %v", p.Partition, p.Leader, p.ISR, p.Replicas)
			}
		}
		return topics[topic].Err
	})
}

// equalReplicas checks that all replicas hold the same bytes. Nobody writes any
// more, and all are in sync, so that they hold all there is.
func equalReplicas(t *testing.T, c *itest.Cluster, topic string, partitions int) {
	t.Helper()
	for p := range partitions {
		itest.Eventually(t, func() error {
			want := c.Nodes[0].LogBytes(t, topic, p)
			for _, n := range c.Nodes[1:] {
				if got := n.LogBytes(t, topic, p); !bytes.Equal(got, want) {
					return fmt.Errorf("%s-%d: node 1 has %d bytes, node %d has %d, and they differ", topic, p, len(want), n.ID, len(got))
				}
			}
			return nil
		})
	}
}

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
	allInSync(t, c, topic)
	exactlyOnce(t, readAll(t, c.Addrs(), topic), acked)
	equalReplicas(t, c, topic, partitions)
}

func seeded(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Three nodes become one cluster: every broker registers, a topic gets three
// replicas that are in sync, and what is written to any of them is read from all.
func TestThreeNodesReplicate(t *testing.T) {
	c := itest.StartCluster(t, 3, quick, nil)
	createReplicated(t, c, "t", 3)
	want := numbered("v", 300)
	for i, n := range c.Nodes {
		itest.Ottla(t, lines(want[100*i:100*i+100]), "produce", "--topic", "t", "--bootstrap-server", n.Addr)
	}
	for _, n := range c.Nodes {
		var got []string
		for _, values := range readAll(t, n.Addr, "t") {
			got = append(got, values...)
		}
		if len(got) != len(want) {
			t.Errorf("through node %d %d of %d records are read", n.ID, len(got), len(want))
		}
	}
	equalReplicas(t, c, "t", 3)
}

func lines(all []string) string {
	var b bytes.Buffer
	for _, l := range all {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}

const clusterKillRounds = 30

// Nothing that was acknowledged with acks=all is lost or doubled, whichever node
// is killed: every third time the one whose controller is active.
func TestThirtyKillsInAClusterLoseAndDoubleNothing(t *testing.T) {
	random := seeded(t)
	c := itest.StartCluster(t, 3, quick, nil)
	createReplicated(t, c, "t", 3)
	loads := startLoads(t, c, "t")
	for round := range clusterKillRounds {
		loads[random.IntN(len(loads))].progress(t, 50+random.Int64N(500))
		victim := c.Nodes[random.IntN(len(c.Nodes))]
		if round%3 == 0 {
			victim = c.Active(t)
		}
		victim.Kill()
		victim.Again(t)
	}
	settle(t, c, "t", 3, loads)
}

const pauseRounds = 10

// A node that stops answering without closing its sockets is worked around, and
// what it still believes when it goes on does no harm.
func TestTenPausesInAClusterLoseAndDoubleNothing(t *testing.T) {
	random := seeded(t)
	c := itest.StartCluster(t, 3, quick, nil)
	createReplicated(t, c, "t", 3)
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
	random := seeded(t)
	faults := t.TempDir()
	c := itest.StartCluster(t, 3, quick, func(id int) []string {
		if id != 1 {
			return nil
		}
		return []string{"--fault-dir", faults}
	})
	createReplicated(t, c, "t", 3)
	loads, victim := startLoads(t, c, "t"), c.Nodes[0]
	for range clusterLossRounds {
		loads[random.IntN(len(loads))].progress(t, 50+random.Int64N(500))
		victim.Kill()
		itest.Ottla(t, "", "fault", "drop-unsynced", "--fault-dir", faults, "--data", victim.Data, "--seed", fmt.Sprint(random.Uint64()))
		victim.Again(t)
		victim.AwaitReady(t)
	}
	settle(t, c, "t", 3, loads)
}

// An orderly stop hands leadership over before the process ends, so that no
// produce has to wait for a session to expire.
func TestAControlledShutdownMovesTheLeaders(t *testing.T) {
	c := itest.StartCluster(t, 3, "offsets.topic.replication.factor=3\n", nil)
	createReplicated(t, c, "t", 6)
	leaving := c.Nodes[0]
	if code := leaving.Stop(t); code != 0 {
		t.Errorf("the exit status is %d", code)
	}
	topics, err := kadm.NewClient(client(t, c.Nodes[1].Addr+","+c.Nodes[2].Addr)).ListTopics(patience(t), "t")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range topics["t"].Partitions {
		if p.Leader == int32(leaving.ID) || p.Leader < 0 || len(p.ISR) != 2 {
			t.Errorf("partition %d: leader %d, in sync %v", p.Partition, p.Leader, p.ISR)
		}
	}
	leaving.Again(t)
	leaving.AwaitReady(t)
	allInSync(t, c, "t")
	for _, n := range c.Nodes {
		if out, err := itest.Run("", exec.Command(itest.Bin(t), "topics", "--list", "--bootstrap-server", n.Addr)); err != nil {
			t.Errorf("node %d: %v\n%s", n.ID, err, out)
		}
	}
}

// A cluster in one process keeps what it was given over an orderly stop of all
// its nodes at once.
func TestADevClusterComesBack(t *testing.T) {
	d := itest.StartDev(t, "--nodes", "3", "--disks", "2")
	c := &itest.Cluster{Nodes: []*itest.Node{{Proc: d.Proc, ID: 1, Addr: d.Addr}}}
	createReplicated(t, c, "t", 3)
	want := numbered("v", 200)
	itest.Ottla(t, lines(want), "produce", "--topic", "t", "--bootstrap-server", d.Addr)
	if code := d.Stop(t); code != 0 {
		t.Errorf("the exit status is %d", code)
	}
	d.Again(t)
	allInSync(t, c, "t")
	var got []string
	for _, values := range readAll(t, d.Addr, "t") {
		got = append(got, values...)
	}
	if !slices.Equal(sorted(got), want) {
		t.Errorf("%d of %d records", len(got), len(want))
	}
}
