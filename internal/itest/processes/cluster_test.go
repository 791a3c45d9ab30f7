package processes

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
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
func createReplicated(t *testing.T, addr, topic string, partitions int32) {
	t.Helper()
	two := "2"
	cl := kadm.NewClient(client(t, addr))
	if _, err := cl.CreateTopic(patience(t), partitions, 3, map[string]*string{"min.insync.replicas": &two}, topic); err != nil {
		t.Fatal(err)
	}
	allInSync(t, addr, topic)
}

// allInSync waits until each of some nodes sees the three replicas of every
// partition in sync. One that others may take for dead has to be among them: all
// but itself may show it in sync as it was before its last start.
func allInSync(t *testing.T, addrs, topic string) {
	t.Helper()
	for _, seed := range client(t, addrs).SeedBrokers() {
		itest.Eventually(t, func() error {
			want := kmsg.NewPtrMetadataRequest()
			want.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
			got, err := seed.RetriableRequest(patience(t), want)
			if err != nil {
				return err
			}
			return inSync(got.(*kmsg.MetadataResponse).Topics[0])
		})
	}
}

// inSync says what three replicas of a topic miss.
func inSync(topic kmsg.MetadataResponseTopic) error {
	for _, p := range topic.Partitions {
		if len(p.ISR) < 3 {
			return fmt.Errorf("partition %d: leader %d, in sync are %v of %v", p.Partition, p.Leader, p.ISR, p.Replicas)
		}
	}
	return kerr.ErrorForCode(topic.ErrorCode)
}

// equalReplicas checks that all replicas hold the same bytes, and that these are
// as many as records take at least. Nobody writes any more, and all are in sync,
// so that they hold all there is.
func equalReplicas(t *testing.T, c *itest.Cluster, topic string, partitions, records int) {
	t.Helper()
	total := 0
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
		total += len(c.Nodes[0].LogBytes(t, topic, p))
	}
	if total < records {
		t.Errorf("the replicas of %s are equal, but their %d bytes cannot hold %d records", topic, total, records)
	}
}

// equalMetadata checks that the nodes have the same metadata log, as far as each
// has it: the active controller goes on writing.
func equalMetadata(t *testing.T, c *itest.Cluster) {
	t.Helper()
	first := c.Nodes[0].LogBytes(t, kafka.MetadataTopic, 0)
	for _, n := range c.Nodes[1:] {
		other := n.LogBytes(t, kafka.MetadataTopic, 0)
		both := min(len(first), len(other))
		if both == 0 || !bytes.Equal(first[:both], other[:both]) {
			t.Errorf("the metadata logs of node 1 (%d bytes) and node %d (%d bytes) differ", len(first), n.ID, len(other))
		}
	}
}

// Three nodes become one cluster: every broker registers, a topic gets three
// replicas that are in sync, and what is written to any of them is read from all.
func TestThreeNodesReplicate(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, quick, nil)
	createReplicated(t, c.Addrs(), "t", 3)
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
	equalReplicas(t, c, "t", 3, len(want))
}

func lines(all []string) string {
	var b bytes.Buffer
	for _, l := range all {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}

// An orderly stop hands leadership over before the process ends, so that no
// produce has to wait for a session to expire.
func TestAControlledShutdownMovesTheLeaders(t *testing.T) {
	t.Parallel()
	c := itest.StartCluster(t, 3, "offsets.topic.replication.factor=3\n", nil)
	createReplicated(t, c.Addrs(), "t", 6)
	leaving := c.Nodes[0]
	if code := leaving.Stop(t); code != 0 {
		t.Errorf("the exit status is %d", code)
	}
	left := kadm.NewClient(client(t, c.Nodes[1].Addr+","+c.Nodes[2].Addr))
	itest.Eventually(t, func() error {
		topics, err := left.ListTopics(patience(t), "t")
		if err != nil {
			return err
		}
		if got := len(topics["t"].Partitions); got != 6 {
			return fmt.Errorf("%d partitions are known", got)
		}
		for _, p := range topics["t"].Partitions {
			if p.Leader == int32(leaving.ID) || p.Leader < 0 || len(p.ISR) != 2 {
				return fmt.Errorf("partition %d: leader %d, in sync %v", p.Partition, p.Leader, p.ISR)
			}
		}
		return nil
	})
	leaving.Again(t)
	leaving.AwaitReady(t)
	allInSync(t, c.Addrs(), "t")
	for _, n := range c.Nodes {
		if out, err := itest.Run("", exec.Command(itest.Bin(t), "topics", "--list", "--bootstrap-server", n.Addr)); err != nil {
			t.Errorf("node %d: %v\n%s", n.ID, err, out)
		}
	}
}

// A cluster in one process keeps what it was given over an orderly stop of all
// its nodes at once.
func TestADevClusterComesBack(t *testing.T) {
	t.Parallel()
	d := itest.ThreeNodes.StartDev(t, "--disks", "2")
	createReplicated(t, d.Addr, "t", 3)
	want := numbered("v", 200)
	itest.Ottla(t, lines(want), "produce", "--topic", "t", "--bootstrap-server", d.Addr)
	if code := d.Stop(t); code != 0 {
		t.Errorf("the exit status is %d", code)
	}
	d.Again(t)
	allInSync(t, d.Addr, "t")
	var got []string
	for _, values := range readAll(t, d.Addr, "t") {
		got = append(got, values...)
	}
	if !slices.Equal(sorted(got), want) {
		t.Errorf("%d of %d records", len(got), len(want))
	}
}
