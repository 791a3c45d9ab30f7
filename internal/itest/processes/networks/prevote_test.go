// Package networks runs our nodes as processes in networks whose cables are
// pulled. Beside package processes it costs the stage no time of its own.
package networks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/itest"
)

const clusterID = "4L6g3nShT-eMCtK--X86sw"

// cutFor is how long a follower is cut off: many fetch and election timeouts.
const cutFor = 30 * time.Second

// A follower that is cut off asks for pre-votes and leaves its epoch alone, so
// that its return disturbs nobody (KIP-996). When the leader dies afterwards,
// one epoch more is enough, and the returned node has its vote in it: two of three
// voters are left, so nobody leads without both votes, whether the returned node
// grants its own to the other or stands itself.
func TestAFollowerThatWasCutOffReturnsQuietlyAndVotes(t *testing.T) {
	c := start(t, 3)
	before := c.settled(t)
	away, leader := c.follower(before), c.node(before.leader)
	file := watch(t, away.quorumState())
	away.host.Disconnect(t)
	states := away.statesUntil(t, time.Now().Add(cutFor))
	away.host.Connect(t)
	if !states["prospective"] && !states["prospective-voted"] {
		t.Errorf("node %d was never prospective while it was cut off, but %v", away.id, states)
	}
	for s := range states {
		if s != "follower" && s != "unattached" && s != "unattached-voted" && !strings.HasPrefix(s, "prospective") {
			t.Errorf("node %d was %s while it was cut off", away.id, s)
		}
	}
	if after := c.settled(t); after != before {
		t.Errorf("before the cut %+v, after the return %+v", before, after)
	}
	file.unchanged(t)

	leader.Kill()
	after := c.settled(t)
	if after.epoch != before.epoch+1 || after.leader == before.leader {
		t.Errorf("node %d led epoch %d and was killed; now node %d leads epoch %d", before.leader, before.epoch, after.leader, after.epoch)
	}
	state := string(read(t, away.quorumState()))
	if strings.Contains(state, `"votedId":-1`) || !strings.Contains(state, fmt.Sprintf(`"leaderEpoch":%d,`, after.epoch)) {
		t.Errorf("node %d has not voted in epoch %d: %s", away.id, after.epoch, state)
	}
}

// cluster is combined nodes, each on a host of its own.
type cluster []*node

type node struct {
	*itest.Proc
	id   int
	role string // process.roles
	port int    // of listener CONTROLLER
	// quorum, second and more are what else its properties say: of the quorum, the name
	// of another listener, and further lines.
	quorum, second, more string
	host                 *itest.Host
	data                 string
	file                 string
	http                 http.Client
}

// start formats and starts combined nodes that are the static voters of one quorum.
func start(t *testing.T, n int) cluster {
	t.Helper()
	c := format(t, layout{voters: n, roles: "broker,controller"})
	c.boot(t)
	return c
}

// layout is what nodes are before they run for the first time.
type layout struct {
	voters int
	roles  string // of the voters
	// settings gives further lines of a controller's properties by its id; nil for none.
	settings func(id int) string
	// spares are controllers beside the voters, and dynamic has the log say who votes
	// (KIP-853) instead of the properties.
	spares  int
	dynamic bool
	brokers int
	// release is the metadata.version at which the nodes are formatted; "" for ours.
	release string
	// second is the name of a listener that controllers have beside CONTROLLER; "" for none.
	second string
}

// directory is the directory id with which a voter of a dynamic quorum is formatted.
func directory(id int) string { return fmt.Sprintf("4L6g3nShT-eMCtK--X86%dw", id) }

// format makes nodes that do not run yet: the voters of one quorum, then spares, then
// brokers.
func format(t *testing.T, l layout) cluster {
	t.Helper()
	network := itest.NewNetwork(t)
	var c cluster
	var voters, initial, bootstrap []string
	for i := range l.voters + l.spares + l.brokers {
		h := network.Join(t)
		nd := &node{id: i + 1, host: h, data: filepath.Join(itest.Folder(t), "data"), role: "controller", port: 9093}
		nd.http.Transport = &http.Transport{DialContext: h.Dial}
		t.Cleanup(nd.http.CloseIdleConnections)
		c = append(c, nd)
		switch at := h.IP + ":9093"; {
		case i < l.voters:
			nd.role = l.roles
			voters = append(voters, fmt.Sprintf("%d@%s", nd.id, at))
			initial = append(initial, fmt.Sprintf("%d@%s:%s", nd.id, at, directory(nd.id)))
			bootstrap = append(bootstrap, at)
		case i >= l.voters+l.spares:
			nd.role = "broker"
		}
	}
	for i, nd := range c {
		quorum, how := "controller.quorum.voters="+strings.Join(voters, ","), []string(nil)
		if l.dynamic {
			quorum = "controller.quorum.bootstrap.servers=" + strings.Join(bootstrap, ",")
			how = []string{"--initial-controllers", strings.Join(initial, ",")}
			if i >= l.voters {
				how = []string{"--no-initial-controllers"}
			}
		}
		if l.release != "" {
			how = append(how, "--release-version", l.release)
		}
		nd.quorum, nd.second, nd.more = quorum, l.second, l.settingsOf(i)
		nd.format(t, how...)
	}
	return c
}

func (l layout) settingsOf(i int) string {
	if l.settings == nil || i >= l.voters+l.spares {
		return ""
	}
	return l.settings(i + 1)
}

// format writes the properties of a node and makes its directory.
func (n *node) format(t *testing.T, how ...string) {
	t.Helper()
	n.configure(t)
	itest.Ottla(t, "", append([]string{"storage", "format", "-c", n.file, "-t", clusterID}, how...)...)
}

// configure writes the properties of a node.
func (n *node) configure(t *testing.T) {
	t.Helper()
	names := "CONTROLLER"
	var listeners []string
	if strings.Contains(n.role, "broker") {
		listeners = append(listeners, fmt.Sprintf("PLAINTEXT://%s:9092", n.host.IP))
	}
	if strings.Contains(n.role, "controller") {
		listeners = append(listeners, fmt.Sprintf("CONTROLLER://%s:%d", n.host.IP, n.port))
	}
	if n.second != "" {
		names += "," + n.second
		listeners = append(listeners, fmt.Sprintf("%s://%s:9094", n.second, n.host.IP))
	}
	n.file = itest.WriteFile(t, "server.properties", fmt.Sprintf(`process.roles=%s
node.id=%d
%s
controller.listener.names=%s
listeners=%s
log.dirs=%s
ottla.metrics.listener=127.0.0.1:9464
%s
`, n.role, n.id, n.quorum, names, strings.Join(listeners, ","), n.data, n.more))
}

// boot starts all nodes and waits until they serve.
func (c cluster) boot(t *testing.T) {
	t.Helper()
	for _, nd := range c {
		nd.again(t)
	}
	for _, nd := range c {
		nd.Says(t, "Kafka Server started")
	}
}

// again starts a node that does not run.
func (n *node) again(t *testing.T) {
	t.Helper()
	n.Proc = itest.Start(t, fmt.Sprintf("node %d", n.id), n.host.Command(itest.Bin(t), "server", n.file))
}

func (c cluster) node(id int) *node { return c[id-1] }

// follower is a node that does not lead.
func (c cluster) follower(v view) *node {
	if v.leader == 1 {
		return c.node(2)
	}
	return c.node(1)
}

func (n *node) quorumState() string {
	return filepath.Join(n.data, "__cluster_metadata-0", "quorum-state")
}

// view is who leads which epoch.
type view struct{ leader, epoch int }

// settled waits until all running nodes know the same leader, have all it has
// committed, and the leader is one of them.
func (c cluster) settled(t *testing.T) (v view) {
	t.Helper()
	itest.Eventually(t, func() error {
		v = view{}
		leads := false
		for _, n := range c {
			if n.Proc == nil || !n.Running() {
				continue
			}
			m, err := n.look()
			if err != nil {
				return err
			}
			seen := view{m.number("current_leader"), m.number("current_epoch")}
			if v != (view{}) && seen != v || seen.leader < 1 {
				return fmt.Errorf("node %d is %s and sees %+v, another %+v", n.id, m.state(), seen, v)
			}
			v = seen
			leads = leads || m.state() == "leader"
			if m.state() != "leader" && m.state() != "follower" && m.state() != "observer" {
				return fmt.Errorf("node %d is %s", n.id, m.state())
			}
		}
		if !leads {
			return fmt.Errorf("node %d leads, but does not know", v.leader)
		}
		return nil
	})
	return v
}

// statesUntil looks at what the node is, again and again, and tells what it was.
func (n *node) statesUntil(t *testing.T, until time.Time) map[string]bool {
	t.Helper()
	seen := map[string]bool{}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(until) {
		m, err := n.look()
		if err != nil {
			t.Fatalf("node %d, which is cut off from the others, cannot be asked: %v", n.id, err)
		}
		seen[m.state()] = true
		<-tick.C
	}
	return seen
}

// figures are the metrics of a node as text.
type figures string

const raftMetrics = "kafka_server_raft_metrics_"

// look asks a node, on its own host, for its metrics.
func (n *node) look() (figures, error) {
	ctx, cancel := context.WithTimeout(context.Background(), itest.Stuck)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:9464/metrics", nil)
	if err != nil {
		return "", err
	}
	resp, err := n.http.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return figures(body), err
}

// number is the value of one of the quorum's metrics; -1 when it is not there.
func (m figures) number(name string) int {
	for line := range strings.Lines(string(m)) {
		var value float64
		if rest, ok := strings.CutPrefix(line, raftMetrics+name+" "); ok {
			if _, err := fmt.Sscan(rest, &value); err == nil {
				return int(value)
			}
		}
	}
	return -1
}

// state is the metric current-state.
func (m figures) state() string {
	_, rest, _ := strings.Cut(string(m), raftMetrics+`current_state{current_state="`)
	state, _, _ := strings.Cut(rest, `"`)
	return state
}

// watched is a file that somebody looks at all the time.
type watched struct {
	stop  func()
	found chan []string
}

// incarnation tells two contents of a path apart, and the same content written
// again.
func incarnation(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	inode := info.Sys().(*syscall.Stat_t).Ino
	return fmt.Sprintf("inode %d of %s: %s", inode, info.ModTime().Format(time.StampNano), bytes.TrimSpace(content)), nil
}

// watch begins to look at a file, until it is asked whether it changed.
func watch(t *testing.T, path string) *watched {
	stopped := make(chan struct{})
	w := &watched{stop: sync.OnceFunc(func() { close(stopped) }), found: make(chan []string, 1)}
	t.Cleanup(w.stop)
	go func() {
		var all []string
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			now, err := incarnation(path)
			if err != nil {
				now = err.Error()
			}
			if len(all) == 0 || all[len(all)-1] != now {
				all = append(all, now)
			}
			select {
			case <-stopped:
				w.found <- all
				return
			case <-tick.C:
			}
		}
	}()
	return w
}

// unchanged ends the watch and checks that the file was never written.
func (w *watched) unchanged(t *testing.T) {
	t.Helper()
	w.stop()
	if all := <-w.found; len(all) != 1 {
		t.Errorf("the file was written:\n%s", strings.Join(all, "\n"))
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
