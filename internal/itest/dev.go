package itest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Dev are the nodes of one "ottla dev".
type Dev struct {
	*Proc
	Addr  string // where clients connect: host:port of each node, with commas between
	Data  string // the data folder
	world World
	args  []string
	port  int // the first
}

// StartDev starts one node in an empty folder and waits until it is ready.
func StartDev(t testing.TB, args ...string) *Dev {
	t.Helper()
	return OneNode.StartDev(t, args...)
}

// StartDev starts the nodes of a world in an empty folder and waits until they
// are ready.
func (w World) StartDev(t testing.TB, args ...string) *Dev {
	t.Helper()
	d := w.NewDev(t, args...)
	d.Again(t)
	return d
}

// NewDev has a folder and ports for the nodes of a world. They do not run yet.
func (w World) NewDev(t testing.TB, args ...string) *Dev {
	t.Helper()
	d := &Dev{world: w, Data: filepath.Join(Folder(t), "data"), args: args, port: FreePorts(t, 2*w.Nodes)}
	var addrs []string
	for i := range w.Nodes {
		addrs = append(addrs, d.client(i))
	}
	d.Addr = strings.Join(addrs, ",")
	return d
}

// client is where clients connect to the i-th node, controller where the others
// of the quorum do.
func (d *Dev) client(i int) string     { return fmt.Sprintf("127.0.0.1:%d", d.port+2*i) }
func (d *Dev) controller(i int) string { return fmt.Sprintf("127.0.0.1:%d", d.port+2*i+1) }

// Again starts the nodes on the same folder and ports, for the first time or
// after they have ended.
func (d *Dev) Again(t testing.TB) {
	t.Helper()
	args := []string{"dev", "--data", d.Data, "--port", fmt.Sprint(d.port), "--nodes", fmt.Sprint(d.world.Nodes)}
	d.Proc = Start(t, "ottla dev", exec.Command(Bin(t), append(args, d.args...)...))
	d.Says(t, d.Addr)
}

// Folders are the log directories of the nodes, in their order. The nodes have
// one each.
func (d *Dev) Folders() []string {
	if d.world.Nodes == 1 {
		return []string{filepath.Join(d.Data, "disk1")}
	}
	var all []string
	for i := range d.world.Nodes {
		all = append(all, filepath.Join(d.Data, fmt.Sprintf("node%d", i+1), "disk1"))
	}
	return all
}

// Files are configurations by which servers of another kind run the same nodes:
// on the same folders and ports, with what "ottla dev" decides by itself. more
// are further settings, one a line.
func (d *Dev) Files(t testing.TB, more string) []string {
	t.Helper()
	var voters, files []string
	for i := range d.world.Nodes {
		voters = append(voters, fmt.Sprintf("%d@%s", i+1, d.controller(i)))
	}
	for i, folder := range d.Folders() {
		files = append(files, WriteFile(t, "server.properties", fmt.Sprintf(`process.roles=broker,controller
node.id=%d
controller.listener.names=CONTROLLER
controller.quorum.voters=%s
listeners=PLAINTEXT://%s,CONTROLLER://%s
log.dirs=%s
offsets.topic.replication.factor=%[7]d
default.replication.factor=%[7]d
group.initial.rebalance.delay.ms=0
%[6]s
`, i+1, strings.Join(voters, ","), d.client(i), d.controller(i), folder, more, d.world.Replicas())))
	}
	return files
}
