package peer

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/itest"
)

// Node is one process of a cluster, its folders, and its host.
type Node struct {
	ID    int
	Kind  Kind
	Roles Roles
	Dirs  []string // its log directories; the metadata log is in the first
	Host  *itest.Host

	spec   Spec
	c      *Cluster
	file   string // server.properties
	proc   *itest.Proc
	runs   []run
	paused bool
	cut    bool
}

// run is one life of a node's process.
type run struct {
	kind Kind
	proc *itest.Proc
}

// Addr is where clients connect.
func (n *Node) Addr() string { return fmt.Sprintf("%s:%d", n.Host.IP, clientPort) }

// ControllerAddr is where the other controllers connect.
func (n *Node) ControllerAddr() string { return fmt.Sprintf("%s:%d", n.Host.IP, controllerPort) }

func (n *Node) String() string { return fmt.Sprintf("node %d (%s)", n.ID, n.Kind) }

// File is the node's properties file.
func (n *Node) File() string { return n.file }

// Metadata is the folder of the node's metadata log.
func (n *Node) Metadata() string { return filepath.Join(n.Dirs[0], "__cluster_metadata-0") }

// Running tells whether the node's process has been started and has not ended.
func (n *Node) Running() bool { return n.proc != nil && n.proc.Running() }

// Said tells whether a line of the log of the node's last process holds a text.
func (n *Node) Said(text string) bool {
	return n.proc != nil && strings.Contains(n.proc.Output(), text)
}

// reachable tells whether the node can be expected to answer others.
func (n *Node) reachable() bool { return n.Running() && !n.paused && !n.cut }

// Start starts a node that does not run. It does not wait until it serves.
func (n *Node) Start() {
	n.c.t.Helper()
	if n.Running() {
		n.c.t.Fatalf("%s runs already", n)
	}
	n.paused = false
	n.proc = itest.Start(n.c.t, n.String(), n.Host.Inside(n.Kind.server(n.c.t, n.file)))
	n.runs = append(n.runs, run{n.Kind, n.proc})
}

// As makes a node that does not run one of another kind, on the same folders.
func (n *Node) As(k Kind) {
	n.c.t.Helper()
	if n.Running() {
		n.c.t.Fatalf("%s runs", n)
	}
	n.Kind = k
}

// Stop ends the node in good order; it fails the test when it does not end, or not
// in good order.
func (n *Node) Stop() {
	n.c.t.Helper()
	n.ended(n.proc.Stop(n.c.t))
}

// handOver asks the node to end and waits, a little, until it says that it does not
// lead any more.
func (n *Node) handOver() {
	n.c.t.Helper()
	n.proc.Terminate()
	for began := time.Now(); time.Since(began) < answerWithin; {
		if v, err := n.c.look(); !n.Running() || err == nil && v.Leader != n {
			return
		}
	}
}

// ended checks an exit status. A JVM that ends for SIGTERM exits with 128 + 15.
func (n *Node) ended(status int) {
	n.c.t.Helper()
	if status != 0 && !(n.Kind.Java() && status == 143) {
		n.c.t.Errorf("%s ended with status %d", n, status)
	}
}

// Kill ends the node with SIGKILL.
func (n *Node) Kill() { n.proc.Kill() }

// Pause stops the process without closing its sockets, until Continue.
func (n *Node) Pause() { n.proc.Pause(); n.paused = true }

// Continue lets a paused process go on.
func (n *Node) Continue() { n.proc.Continue(); n.paused = false }

// Isolate pulls the node's cable, until Heal: what it sends and what is sent to it
// is lost.
func (n *Node) Isolate() { n.Host.Disconnect(n.c.t); n.cut = true }

// Heal puts the cable back.
func (n *Node) Heal() { n.Host.Connect(n.c.t); n.cut = false }

// Parted has two nodes lose all that they send to each other, until Joined. Each
// still reaches everybody else.
func Parted(a, b *Node) {
	a.iptables("--append", "INPUT", "--source", b.Host.IP, "--jump", "DROP")
	b.iptables("--append", "INPUT", "--source", a.Host.IP, "--jump", "DROP")
}

// Joined ends what Parted began.
func Joined(a, b *Node) {
	a.iptables("--flush")
	b.iptables("--flush")
}

func (n *Node) iptables(args ...string) {
	n.c.t.Helper()
	if out, err := itest.Run("", n.Host.Command("iptables", append([]string{"--wait"}, args...)...)); err != nil {
		n.c.t.Fatalf("iptables: %v: %s", err, out)
	}
}

// Directory is the id of the node's metadata directory.
func (n *Node) Directory() string {
	n.c.t.Helper()
	raw, err := os.ReadFile(filepath.Join(n.Dirs[0], "meta.properties"))
	if err != nil {
		n.c.t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^directory\.id=(\S+)`).FindSubmatch(raw)
	if m == nil {
		n.c.t.Fatalf("no directory id in %s", raw)
	}
	return string(m[1])
}

// Wipe removes the folders of a node that does not run.
func (n *Node) Wipe() {
	n.c.t.Helper()
	if n.Running() {
		n.c.t.Fatalf("%s runs", n)
	}
	for _, dir := range n.Dirs {
		if err := os.RemoveAll(dir); err != nil {
			n.c.t.Fatal(err)
		}
	}
}

// Start starts all nodes that do not run and waits until they serve.
func (c *Cluster) Start() {
	c.t.Helper()
	for _, n := range c.Nodes {
		if !n.Running() {
			n.Start()
		}
	}
	c.Ready()
}

// Stop ends all nodes that run in good order: first those that are brokers alone,
// which need a controller to let them go, then the others all at once, as combined
// nodes that end one after another leave the last one without a quorum to hand its
// partitions to.
func (c *Cluster) Stop() {
	c.t.Helper()
	c.stop(c.pick(func(n *Node) bool { return n.Running() && n.Roles == Broker }))
	c.stop(c.pick((*Node).Running))
}

func (c *Cluster) stop(nodes []*Node) {
	c.t.Helper()
	var procs []*itest.Proc
	for _, n := range nodes {
		procs = append(procs, n.proc)
	}
	itest.StopAll(c.t, procs)
	for _, n := range nodes {
		n.ended(n.proc.Wait(c.t))
	}
}

// end keeps the logs of all lives of the nodes of a test that failed.
func (c *Cluster) end() {
	c.talks.close()
	if !c.t.Failed() {
		return
	}
	folder := filepath.Join(itest.Root(), "bin", "failed", strings.NewReplacer("/", ".", " ", "_").Replace(c.t.Name()))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		c.t.Error(err)
		return
	}
	for _, n := range c.Nodes {
		for i, r := range n.runs {
			name := fmt.Sprintf("node-%d.life-%d.%s.log", n.ID, i+1, r.kind)
			if err := os.WriteFile(filepath.Join(folder, name), []byte(r.proc.Output()), 0o644); err != nil {
				c.t.Error(err)
			}
		}
	}
	c.t.Logf("the logs of all nodes are in %s", folder)
}
