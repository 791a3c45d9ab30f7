package processes

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// lone is a broker in a process of its own.
type lone struct {
	*itest.Proc
	args       []string
	addr, data string
}

// startBrokersApart starts a controller and three brokers, each in a process of
// its own; the first one's writes go through the fault layer.
func startBrokersApart(t *testing.T, faults string) []*lone {
	t.Helper()
	ports, dir := itest.FreePorts(t, 4), t.TempDir()
	file := func(role string, id int, listener, data string) string {
		f := itest.WriteFile(t, "server.properties", fmt.Sprintf(`process.roles=%s
node.id=%d
controller.listener.names=CONTROLLER
listeners=%s
controller.quorum.voters=100@127.0.0.1:%d
log.dirs=%s
%s`, role, id, listener, ports, data, quick))
		itest.Ottla(t, "", "storage", "format", "-c", f, "-t", clusterID)
		return f
	}
	controller := file("controller", 100, fmt.Sprintf("CONTROLLER://127.0.0.1:%d", ports), filepath.Join(dir, "controller"))
	itest.Start(t, "controller", exec.Command(itest.Bin(t), "server", controller))
	var all []*lone
	for id := 1; id <= 3; id++ {
		b := &lone{addr: fmt.Sprintf("127.0.0.1:%d", ports+id), data: filepath.Join(dir, fmt.Sprint(id))}
		b.args = []string{"server", file("broker", id, "PLAINTEXT://"+b.addr, b.data)}
		if id == 1 {
			b.args = append(b.args, "--fault-dir", faults)
		}
		b.start(t)
		all = append(all, b)
	}
	for _, b := range all {
		b.Says(t, "Kafka Server started")
	}
	return all
}

func (b *lone) start(t *testing.T) {
	b.Proc = itest.Start(t, "broker", exec.Command(itest.Bin(t), b.args...))
}

// The last replica in sync is killed and loses what its disk had not synced. Its
// records were acknowledged by two with min.insync.replicas=2, and those of the two
// that stopped in good order have them all. One of them has to lead, not the one
// that has lost them and was in sync by its word (KIP-966).
func TestALossyCrashOfTheLastInSyncLosesNothing(t *testing.T) {
	t.Parallel()
	faults := t.TempDir()
	brokers := startBrokersApart(t, faults)
	last := brokers[0]
	addrs := strings.Join([]string{brokers[0].addr, brokers[1].addr, brokers[2].addr}, ",")
	createReplicated(t, addrs, "t", 1)
	cl := client(t, addrs, kgo.DefaultProduceTopic("t"), kgo.RequiredAcks(kgo.AllISRAcks()))
	var acked []string
	for i := range 1000 {
		value := fmt.Sprintf("a %08d", i)
		if err := cl.ProduceSync(patience(t), kgo.StringRecord(value)).FirstErr(); err != nil {
			t.Fatal(err)
		}
		acked = append(acked, value)
	}
	brokers[1].Stop(t)
	brokers[2].Stop(t)
	alone := kadm.NewClient(client(t, last.addr))
	itest.Eventually(t, func() error {
		topics, err := alone.ListTopics(patience(t), "t")
		if err != nil {
			return err
		}
		if isr := topics["t"].Partitions[0].ISR; fmt.Sprint(isr) != "[1]" {
			return fmt.Errorf("in sync: %v", isr)
		}
		return nil
	})
	last.Kill()
	before := len(itest.LogBytes(t, last.data, "t", 0))
	itest.Ottla(t, "", "fault", "drop-unsynced", "--fault-dir", faults, "--data", last.data, "--seed", "0")
	if after := len(itest.LogBytes(t, last.data, "t", 0)); after >= before {
		t.Fatalf("the disk lost nothing: %d bytes of %d are there", after, before)
	}
	last.start(t)
	last.Says(t, "registered with the controller")
	brokers[1].start(t)
	brokers[2].start(t)
	for _, b := range brokers {
		b.Says(t, "Kafka Server started")
	}
	allInSync(t, addrs, "t")
	exactlyOnce(t, readAll(t, addrs, "t"), acked)
}
