package peer

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// Roles are a node's process.roles.
type Roles string

// The roles a node may have.
const (
	Controller Roles = "controller"
	Broker     Roles = "broker"
	Combined   Roles = "broker,controller"
)

// Controls tells whether a node with the roles is a controller.
func (r Roles) Controls() bool { return r != Broker }

// Serves tells whether a node with the roles is a broker.
func (r Roles) Serves() bool { return r != Controller }

// Spec is one node of a layout.
type Spec struct {
	Kind  Kind
	Roles Roles
	// Spare has a controller of a dynamic quorum begin as an observer.
	Spare bool
	// More are further lines of the node's properties.
	More string
}

// Layout is what a cluster is before it runs. The i-th node has id i + 1.
type Layout struct {
	Nodes []Spec
	// Dynamic has the log say who votes (KIP-853), and not the properties.
	Dynamic bool
	// Dirs is how many log directories each node has; 0 means 1.
	Dirs int
	// Small, unless 0, makes the last log directory of each broker a file system of its
	// own that has so many bytes. It can be broken.
	Small int
	// Release is the metadata.version of the cluster, as 4.0 or 4.0-IV3; "" for
	// what a release of the newest kind finalizes.
	Release string
	// More are further lines of all nodes' properties.
	More string
	// AllFeatures has the format finalize all features of the release, also those that
	// we do not serve, as a cluster has them that was made without a thought of us.
	AllFeatures bool
}

// Mix is a layout of nodes with the same roles, of the kinds given.
func Mix(roles Roles, kinds ...Kind) (l Layout) {
	for _, k := range kinds {
		l.Nodes = append(l.Nodes, Spec{Kind: k, Roles: roles})
	}
	return l
}

// clusterID is that of all clusters, directory the id of a node's first directory
// in a dynamic quorum.
const clusterID = "4L6g3nShT-eMCtK--X86sw"

func directory(id int) string { return fmt.Sprintf("4L6g3nShT-eMCtK--X86%dw", id) }

// Ports of every node, at its own address.
const (
	clientPort     = 9092
	controllerPort = 9093
)

// Cluster is nodes of any kind on one network.
type Cluster struct {
	Nodes   []*Node
	t       testing.TB
	layout  Layout
	clients *itest.Host // where clients and tools run
	excused []*regexp.Regexp
	talks   talks
}

// New lays a cluster out and formats every node with the tool of its kind. No node
// runs. When the test ends, nodes are killed, and their logs are kept if it failed.
func New(t testing.TB, l Layout) *Cluster {
	t.Helper()
	network := itest.NewNetwork(t)
	c := &Cluster{t: t, layout: l}
	for i, s := range l.Nodes {
		n := &Node{ID: i + 1, Kind: s.Kind, Roles: s.Roles, spec: s, c: c, Host: network.Join(t)}
		folder := itest.Folder(t)
		for d := range max(l.Dirs, 1) {
			n.Dirs = append(n.Dirs, filepath.Join(folder, fmt.Sprintf("data%d", d+1)))
		}
		if l.Small != 0 && n.Roles.Serves() {
			n.mount(l.Small)
		}
		c.Nodes = append(c.Nodes, n)
	}
	c.clients = network.Join(t)
	t.Cleanup(c.end)
	for _, n := range c.Nodes {
		n.configure()
	}
	for _, n := range c.Nodes {
		n.Format()
	}
	return c
}

// controllers are the nodes that may vote, from the beginning or later.
func (c *Cluster) controllers() []*Node {
	return c.pick(func(n *Node) bool { return n.Roles.Controls() })
}

// brokers are the nodes that serve clients.
func (c *Cluster) brokers() []*Node {
	return c.pick(func(n *Node) bool { return n.Roles.Serves() })
}

// Of are the nodes of a kind.
func (c *Cluster) Of(k Kind) []*Node {
	return c.pick(func(n *Node) bool { return n.Kind == k })
}

// Others are the nodes but one.
func (c *Cluster) Others(one *Node) []*Node {
	return c.pick(func(n *Node) bool { return n != one })
}

func (c *Cluster) pick(want func(*Node) bool) []*Node {
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n *Node) bool { return !want(n) })
}

// Node is the node with an id.
func (c *Cluster) Node(id int) *Node { return c.Nodes[id-1] }

// initial is who begins as a voter, as the properties of a static quorum and as
// the format of a dynamic one have it.
func (c *Cluster) initial() (static, dynamic, bootstrap string) {
	var a, b, s []string
	for _, n := range c.controllers() {
		if n.spec.Spare {
			continue
		}
		a = append(a, fmt.Sprintf("%d@%s", n.ID, n.ControllerAddr()))
		b = append(b, fmt.Sprintf("%d@%s:%s", n.ID, n.ControllerAddr(), directory(n.ID)))
		s = append(s, n.ControllerAddr())
	}
	return strings.Join(a, ","), strings.Join(b, ","), strings.Join(s, ",")
}

// configure writes the node's properties.
func (n *Node) configure() {
	n.c.t.Helper()
	static, _, bootstrap := n.c.initial()
	quorum := "controller.quorum.voters=" + static
	if n.c.layout.Dynamic {
		quorum = "controller.quorum.bootstrap.servers=" + bootstrap
	}
	var listeners []string
	if n.Roles.Serves() {
		listeners = append(listeners, "PLAINTEXT://"+n.Addr())
	}
	if n.Roles.Controls() {
		listeners = append(listeners, "CONTROLLER://"+n.ControllerAddr())
	}
	n.file = itest.WriteFile(n.c.t, "server.properties", fmt.Sprintf(`process.roles=%s
node.id=%d
%s
controller.listener.names=CONTROLLER
listeners=%s
log.dirs=%s
offsets.topic.num.partitions=3
offsets.topic.replication.factor=%[6]d
transaction.state.log.num.partitions=3
transaction.state.log.replication.factor=%[6]d
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
%[7]s
%[8]s
`, n.Roles, n.ID, quorum, strings.Join(listeners, ","), strings.Join(n.Dirs, ","),
		min(len(n.c.brokers()), 3), n.c.layout.More, n.spec.More))
}

// Format makes the node's folders ready with the tool of its kind.
func (n *Node) Format() {
	n.c.t.Helper()
	release := n.c.layout.Release
	args := []string{"format", "--config", n.file, "--cluster-id", clusterID}
	if release != "" {
		args = append(args, "--release-version", release)
	} else {
		release = Kafka.Release()
	}
	if n.Roles.Controls() && !n.c.layout.AllFeatures {
		args = append(args, without(release)...)
	}
	if n.c.layout.Dynamic {
		_, dynamic, _ := n.c.initial()
		if n.Roles.Controls() && !n.spec.Spare {
			args = append(args, "--initial-controllers", dynamic)
		} else {
			args = append(args, "--no-initial-controllers")
		}
	}
	if out, err := itest.Run("", n.Kind.storage(n.c.t, args...)); err != nil {
		n.c.t.Fatalf("%s formats node %d: %v\n%s", n.Kind, n.ID, err, out)
	}
}
