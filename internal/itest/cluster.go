package itest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Cluster is a number of combined nodes that are the voters of one quorum.
type Cluster struct {
	Nodes []*Node
}

// Node is one process of a cluster.
type Node struct {
	*Proc
	ID    int
	Addr  string // where clients connect
	Peers string // where other controllers connect
	Data  string // the log directory
	file  string
	flags []string // of "ottla server"
}

// clusterID is that of the clusters tests start.
const clusterID = "4L6g3nShT-eMCtK--X86sw"

// StartCluster formats and starts n nodes with static voters. more are further
// settings of each, one a line; flags gives those of "ottla server" by node id,
// and may be nil. It waits until all serve clients.
func StartCluster(t testing.TB, n int, more string, flags func(id int) []string) *Cluster {
	t.Helper()
	return StartClusterOf(t, n, func(int) string { return more }, flags)
}

// StartClusterOf is StartCluster with further settings by node id.
func StartClusterOf(t testing.TB, n int, more func(id int) string, flags func(id int) []string) *Cluster {
	t.Helper()
	if flags == nil {
		flags = func(int) []string { return nil }
	}
	c, quorum := &Cluster{}, make([]int, n)
	voters := make([]string, n)
	ports := FreePorts(t, 2*n)
	for i := range n {
		quorum[i] = ports + 2*i + 1
		voters[i] = fmt.Sprintf("%d@127.0.0.1:%d", i+1, quorum[i])
	}
	for i := range n {
		node := &Node{ID: i + 1, Addr: fmt.Sprintf("127.0.0.1:%d", ports+2*i), Peers: fmt.Sprintf("127.0.0.1:%d", quorum[i]), Data: filepath.Join(Folder(t), "data"), flags: flags(i + 1)}
		node.file = WriteFile(t, "server.properties", fmt.Sprintf(`process.roles=broker,controller
node.id=%d
controller.quorum.voters=%s
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://%s,CONTROLLER://%s
log.dirs=%s
offsets.topic.num.partitions=3
group.initial.rebalance.delay.ms=0
%s
`, node.ID, strings.Join(voters, ","), node.Addr, node.Peers, node.Data, more(node.ID)))
		node.Format(t)
		c.Nodes = append(c.Nodes, node)
	}
	for _, node := range c.Nodes {
		node.Again(t)
	}
	for _, node := range c.Nodes {
		node.AwaitReady(t)
	}
	return c
}

// StartBroker adds a node that is nothing but a broker to a cluster. It is none of the
// cluster's Nodes. more are further settings, one a line.
func (c *Cluster) StartBroker(t testing.TB, id int, more string) *Node {
	t.Helper()
	voters := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		voters[i] = fmt.Sprintf("%d@%s", n.ID, n.Peers)
	}
	n := &Node{ID: id, Addr: fmt.Sprintf("127.0.0.1:%d", FreePort(t)), Data: filepath.Join(Folder(t), "data")}
	n.file = WriteFile(t, "broker.properties", fmt.Sprintf(`process.roles=broker
node.id=%d
controller.quorum.voters=%s
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://%s
log.dirs=%s
%s
`, id, strings.Join(voters, ","), n.Addr, n.Data, more))
	n.Format(t)
	n.Again(t)
	n.AwaitReady(t)
	return n
}

// Format formats the log directory of a node that does not run, as for a new
// cluster. What was there before must be gone.
func (n *Node) Format(t testing.TB) {
	t.Helper()
	Ottla(t, "", "storage", "format", "-c", n.file, "-t", clusterID)
}

// File is the node's properties file.
func (n *Node) File() string { return n.file }

// Again starts a node that has ended. It does not wait until it serves.
func (n *Node) Again(t testing.TB) {
	t.Helper()
	n.Proc = Start(t, fmt.Sprintf("node %d", n.ID), exec.Command(Bin(t), append([]string{"server", n.file}, n.flags...)...))
}

// AwaitReady waits until the node, since it was last started, serves clients.
func (n *Node) AwaitReady(t testing.TB) {
	t.Helper()
	n.Says(t, "Kafka Server started")
}

// Addrs are the addresses of all nodes, for a client to begin with.
func (c *Cluster) Addrs() string {
	var all []string
	for _, n := range c.Nodes {
		all = append(all, n.Addr)
	}
	return strings.Join(all, ",")
}

// Active is the node whose controller is active. It waits until there is one.
func (c *Cluster) Active(t testing.TB) *Node {
	t.Helper()
	var found *Node
	Eventually(t, func() error {
		out, err := Run("", exec.Command(Bin(t), "metadata-quorum", "describe", "--status", "--bootstrap-server", c.Addrs()))
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		id := -1
		for line := range strings.Lines(out) {
			if v, ok := strings.CutPrefix(line, "LeaderId:"); ok {
				_, err = fmt.Sscan(v, &id)
			}
		}
		if i := slices.IndexFunc(c.Nodes, func(n *Node) bool { return n.ID == id }); err == nil && i >= 0 {
			found = c.Nodes[i]
			return nil
		}
		return fmt.Errorf("no leader in %s", out)
	})
	return found
}

// LogBytes are the bytes of all segments of a partition on a node, in order.
func (n *Node) LogBytes(t testing.TB, topic string, partition int) []byte {
	t.Helper()
	return LogBytes(t, n.Data, topic, partition)
}

// LogBytes are the bytes of all segments of a partition in a log directory, in
// order.
func LogBytes(t testing.TB, folder, topic string, partition int) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, fmt.Sprintf("%s-%d", topic, partition), "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	var all []byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}
