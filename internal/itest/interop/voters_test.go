package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// dynamic is a node of a quorum whose voters stand in the log.
type dynamic struct {
	*itest.Proc
	file, data, controller string
}

func startDynamic(t *testing.T, id int, roles, listeners, bootstrap, how string) *dynamic {
	t.Helper()
	port := itest.FreePort(t)
	d := &dynamic{data: filepath.Join(t.TempDir(), "data"), controller: fmt.Sprintf("127.0.0.1:%d", port)}
	if bootstrap == "" {
		bootstrap = d.controller
	}
	d.file = itest.WriteFile(t, "server.properties", fmt.Sprintf(`process.roles=%s
node.id=%d
controller.quorum.bootstrap.servers=%s
controller.listener.names=CONTROLLER
listeners=%sCONTROLLER://%s
log.dirs=%s
`, roles, id, bootstrap, listeners, d.controller, d.data))
	itest.Ottla(t, "", "storage", "format", "-c", d.file, "-t", clusterID, how)
	d.Proc = itest.Start(t, fmt.Sprintf("node %d", id), exec.Command(itest.Bin(t), "server", d.file))
	d.Says(t, "Kafka Server started")
	return d
}

// directory is the id of the node's directory.
func (d *dynamic) directory(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(d.data, "meta.properties"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^directory\.id=(\S+)`).FindSubmatch(raw)
	if m == nil {
		t.Fatalf("no directory id in %s", raw)
	}
	return string(m[1])
}

// A controller of ours joins a quorum of ours and leaves it, by Kafka's tool
// and by ours, asked at a controller and at a broker (KIP-853).
func TestControllersAreAddedAndRemoved(t *testing.T) {
	t.Parallel()
	broker := fmt.Sprintf("127.0.0.1:%d", itest.FreePort(t))
	first := startDynamic(t, 1, "broker,controller", "PLAINTEXT://"+broker+",", "", "--standalone")
	second := startDynamic(t, 2, "controller", "", first.controller, "--no-initial-controllers")
	becomes := func(status string) {
		t.Helper()
		line := regexp.MustCompile(`(?m)^2\s.*\s` + status + `\s*$`)
		itest.Eventually(t, func() error {
			out, err := itest.Run("", exec.Command(itest.Bin(t), "metadata-quorum", "describe", "--replication", "-b", broker))
			if err != nil || !line.MatchString(out) {
				return fmt.Errorf("node 2 is not %s: %w\n%s", status, err, out)
			}
			return nil
		})
	}
	dir := second.directory(t)
	becomes("Observer")
	kafkas := func(at, addr string, args ...string) string {
		return itest.MustKafkaTool(t, "", "kafka-metadata-quorum", append([]string{at, addr}, args...)...)
	}
	ours := func(args ...string) string {
		return itest.Ottla(t, "", append(append([]string{"metadata-quorum"}, args...), "-b", broker)...)
	}
	// The tool takes a voter's word for having caught up as late as its leader
	// does: until then it is told to come again.
	itest.Eventually(t, func() error {
		out, err := itest.KafkaTool(t, "", "kafka-metadata-quorum", "--bootstrap-controller", first.controller, "--command-config", second.file, "add-controller")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	becomes("Follower")
	says(t, kafkas("--bootstrap-server", broker, "describe", "--status"), `CurrentVoters:.*"id": 1.*"id": 2`, `LeaderEpoch:\s+1`)
	kafkas("--bootstrap-server", broker, "remove-controller", "--controller-id", "2", "--controller-directory-id", dir)
	becomes("Observer")
	says(t, ours("add-controller", "-c", second.file), "Added controller 2 with directory id "+dir)
	becomes("Follower")
	says(t, ours("remove-controller", "-i", "2", "-d", dir), "Removed KRaft controller 2 with directory id "+dir)
	becomes("Observer")
	if code := second.Stop(t); code != 0 {
		t.Errorf("the exit status is %d", code)
	}
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
