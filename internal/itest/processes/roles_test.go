package processes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// apart are a controller and a broker in two processes.
type apart struct {
	controller, broker *itest.Proc
	controllerFile     string
	brokerFile         string
	addr               string
	dir                string
}

func startApart(t *testing.T, more string) *apart {
	t.Helper()
	quorum, clients := itest.FreePort(t), itest.FreePort(t)
	a := &apart{dir: t.TempDir(), addr: fmt.Sprintf("127.0.0.1:%d", clients)}
	a.controllerFile = itest.WriteFile(t, "controller.properties", fmt.Sprintf(`process.roles=controller
node.id=100
controller.listener.names=CONTROLLER
listeners=CONTROLLER://127.0.0.1:%d
controller.quorum.voters=100@127.0.0.1:%d
log.dirs=%s
%s
`, quorum, quorum, filepath.Join(a.dir, "controller"), more))
	a.brokerFile = itest.WriteFile(t, "broker.properties", fmt.Sprintf(`process.roles=broker
node.id=1
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://%s
controller.quorum.voters=100@127.0.0.1:%d
log.dirs=%s
offsets.topic.replication.factor=1
offsets.topic.num.partitions=3
group.initial.rebalance.delay.ms=0
%s
`, a.addr, quorum, filepath.Join(a.dir, "broker"), more))
	for _, file := range []string{a.controllerFile, a.brokerFile} {
		itest.Ottla(t, "", "storage", "format", "-c", file, "-t", clusterID)
	}
	a.controller = itest.Start(t, "controller", exec.Command(itest.Bin(t), "server", a.controllerFile))
	a.broker = itest.Start(t, "broker", exec.Command(itest.Bin(t), "server", a.brokerFile))
	itest.AwaitPort(t, a.addr)
	return a
}

// A broker and a controller in processes of their own do what a combined node
// does: what changes metadata travels to the controller.
func TestABrokerAndAControllerApart(t *testing.T) {
	t.Parallel()
	a := startApart(t, "")
	create(t, a.addr, "t", 3, map[string]string{"retention.ms": "100000"})
	want := numbered("apart", 500)
	itest.Kcat(t, strings.Join(want, "\n")+"\n", "-b", a.addr, "-P", "-t", "t", "-X", "topic.acks=all")
	read := func() []string {
		var got []string
		for _, values := range readAll(t, a.addr, "t") {
			got = append(got, values...)
		}
		return sorted(got)
	}
	if got := read(); !slices.Equal(got, want) {
		t.Errorf("%d of %d records", len(got), len(want))
	}
	out := itest.Ottla(t, "", "metadata-quorum", "describe", "--status", "--bootstrap-server", a.addr)
	if !strings.Contains(out, "100") {
		t.Errorf("the quorum's leader is 100: %s", out)
	}
	// The controller goes and comes back; the broker finds it again.
	a.controller.Kill()
	a.controller = itest.Start(t, "controller again", exec.Command(itest.Bin(t), "server", a.controllerFile))
	itest.Eventually(t, func() error {
		_, err := itest.Run("", exec.Command(itest.Bin(t), "topics", "--create", "--if-not-exists", "--topic", "later", "--bootstrap-server", a.addr))
		return err
	})
	if got := read(); !slices.Equal(got, want) {
		t.Errorf("afterwards %d of %d records", len(got), len(want))
	}
	if code := a.broker.Stop(t); code != 0 {
		t.Errorf("the broker's exit status is %d", code)
	}
	if code := a.controller.Stop(t); code != 0 {
		t.Errorf("the controller's exit status is %d", code)
	}
}

// Snapshots are written, old log goes, and a node starts from them.
func TestANodeStartsFromItsMetadataSnapshot(t *testing.T) {
	t.Parallel()
	data := filepath.Join(itest.Folder(t), "data")
	props, addr := serverProperties(t, data, "metadata.log.max.record.bytes.between.snapshots=2000\nmetadata.max.idle.interval.ms=100")
	itest.Ottla(t, "", "storage", "format", "-c", props, "-t", clusterID)
	node := itest.Start(t, "ottla server", exec.Command(itest.Bin(t), "server", props))
	itest.AwaitPort(t, addr)
	for i := range 30 {
		create(t, addr, fmt.Sprintf("topic-%d", i), 3, nil)
	}
	itest.Eventually(t, func() error {
		if found := checkpoints(t, data); len(found) < 2 {
			return fmt.Errorf("checkpoints: %q", found)
		}
		return nil
	})
	node.Kill()
	again := itest.Start(t, "ottla server", exec.Command(itest.Bin(t), "server", props))
	itest.AwaitPort(t, addr)
	out := itest.Ottla(t, "", "topics", "--list", "--bootstrap-server", addr)
	if n := strings.Count(out, "topic-"); n != 30 {
		t.Errorf("%d of 30 topics: %s", n, out)
	}
	again.Stop(t)
	for _, file := range checkpoints(t, data) {
		itest.Ottla(t, "", "dump-log", filepath.Join(data, "__cluster_metadata-0", file))
	}
}

func checkpoints(t *testing.T, data string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(data, "__cluster_metadata-0"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".checkpoint") {
			found = append(found, e.Name())
		}
	}
	return found
}
