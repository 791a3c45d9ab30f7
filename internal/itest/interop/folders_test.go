package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// combined is the configuration of one node that is broker and controller.
func combined(t *testing.T, data string) (properties, addr string) {
	t.Helper()
	client, controller := itest.FreePort(t), itest.FreePort(t)
	addr = fmt.Sprintf("127.0.0.1:%d", client)
	return itest.WriteFile(t, "server.properties", fmt.Sprintf(`
process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://%s,CONTROLLER://127.0.0.1:%d
controller.quorum.voters=1@127.0.0.1:%d
log.dirs=%s
offsets.topic.replication.factor=1
offsets.topic.num.partitions=3
group.initial.rebalance.delay.ms=0
`, addr, controller, controller, data)), addr
}

// formatFlags leave at 0 what an ottla node does not serve.
var formatFlags = []string{"--feature", "group.version=0", "--feature", "transaction.version=0", "--feature", "share.version=0", "--feature", "streams.version=0"}

const clusterID = "4L6g3nShT-eMCtK--X86sw"

// fill writes records of each kind and commits a group's offsets.
func fill(t *testing.T, addr, topic string) {
	t.Helper()
	itest.AwaitPort(t, addr)
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		itest.Kcat(t, text(lines(codec, 200)), "-b", addr, "-P", "-t", topic, "-X", "topic.acks=all", "-X", "compression.codec="+codec)
	}
	itest.Kcat(t, "", "-b", addr, "-G", "readers", topic, "-c", "1000", "-q", "-X", "auto.offset.reset=earliest")
}

// check reads everything back and asks for the group.
func check(t *testing.T, addr, topic string) {
	t.Helper()
	itest.AwaitPort(t, addr)
	got := itest.Kcat(t, "", "-b", addr, "-C", "-t", topic, "-o", "beginning", "-e", "-q")
	if n := strings.Count(got, "\n"); n != 1000 {
		t.Errorf("%s: %d records of 1000", topic, n)
	}
	out := itest.MustKafkaTool(t, "", "kafka-consumer-groups", "--bootstrap-server", addr, "--describe", "--group", "readers")
	if len(withPrefix(out, "readers ")) == 0 {
		t.Errorf("the group has no offsets: %s", out)
	}
}

func startOttla(t *testing.T, properties string) *itest.Proc {
	t.Helper()
	return itest.Start(t, "ottla server", exec.Command(itest.Bin(t), "server", properties))
}

func TestApacheKafkaServesAFolderOfOurs(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	props, addr := combined(t, data)
	itest.Ottla(t, "", "storage", "format", "-c", props, "-t", clusterID)
	ours := startOttla(t, props)
	fill(t, addr, "ours")
	ours.Stop(t)
	theirs := itest.StartKafka(t, props)
	check(t, addr, "ours")
	fill(t, addr, "theirs")
	theirs.Stop(t)
	// and back again, after a life with the other kind
	startOttla(t, props)
	check(t, addr, "ours")
	check(t, addr, "theirs")
}

func TestWeServeAFolderOfApacheKafka(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	props, addr := combined(t, data)
	itest.MustKafkaTool(t, "", "kafka-storage", append([]string{"format", "-c", props, "-t", clusterID}, formatFlags...)...)
	theirs := itest.StartKafka(t, props)
	fill(t, addr, "theirs")
	theirs.Kill() // not even a clean stop
	ours := startOttla(t, props)
	check(t, addr, "theirs")
	fill(t, addr, "ours")
	ours.Kill()
	itest.StartKafka(t, props)
	check(t, addr, "ours")
}

// kafka-dump-log reads every file we write and finds as many records as were
// written.
func TestKafkasDumpLogReadsEveryFileOfOurs(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	props, addr := combined(t, data)
	itest.Ottla(t, "", "storage", "format", "-c", props, "-t", clusterID)
	ours := startOttla(t, props)
	fill(t, addr, "t")
	ours.Stop(t)

	dump := func(args ...string) string {
		t.Helper()
		out := itest.MustKafkaTool(t, "", "kafka-dump-log", args...)
		for _, bad := range []string{"Exception", "Mismatch", "isvalid: false", "corrupt", "Could not"} {
			if strings.Contains(out, bad) {
				t.Errorf("dump-log %v: %s in\n%.3000s", args, bad, out)
			}
		}
		return out
	}
	join := func(dir, pattern string) string { return strings.Join(files(t, dir, pattern), ",") }
	topic := filepath.Join(data, "t-0")
	out := dump("--files", join(topic, "*.log"), "--deep-iteration", "--print-data-log")
	if n := strings.Count(out, "payload: "); n != 1000 {
		t.Errorf("dump-log finds %d records of 1000", n)
	}
	dump("--files", join(topic, "*.index"), "--verify-index-only")
	dump("--files", join(topic, "*.timeindex"), "--verify-index-only")
	if snapshots := join(topic, "*.snapshot"); snapshots != "" {
		dump("--files", snapshots)
	}
	meta := filepath.Join(data, "__cluster_metadata-0")
	says(t, dump("--files", join(meta, "*.log"), "--cluster-metadata-decoder"), `REGISTER_BROKER_RECORD`, `TOPIC_RECORD`, `PARTITION_RECORD`, `LeaderChange`)
	says(t, dump("--files", join(meta, "*.checkpoint"), "--cluster-metadata-decoder"), `SnapshotHeader`)
	for _, dir := range files(t, data, "__consumer_offsets-*") {
		if logs := join(dir, "*.log"); logs != "" {
			dump("--files", logs, "--offsets-decoder")
		}
	}
}

// Our dump-log reads what Apache Kafka wrote.
func TestOurDumpLogReadsApacheKafkasFiles(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	props, addr := combined(t, data)
	itest.MustKafkaTool(t, "", "kafka-storage", append([]string{"format", "-c", props, "-t", clusterID}, formatFlags...)...)
	theirs := itest.StartKafka(t, props)
	fill(t, addr, "t")
	theirs.Stop(t)
	out := itest.Ottla(t, "", append([]string{"dump-log", "--json", "--print-data-log"}, files(t, filepath.Join(data, "t-0"), "*.log")...)...)
	if n := strings.Count(out, `"value"`); n < 1000 {
		t.Errorf("%d records of 1000", n)
	}
	for _, pattern := range []string{"*.log", "*.index", "*.timeindex", "*.snapshot", "*.checkpoint", "*-checkpoint", "partition.metadata", "meta.properties", "quorum-state"} {
		for _, file := range files(t, data, pattern) {
			if info, err := os.Stat(file); err == nil && !info.IsDir() {
				itest.Ottla(t, "", "dump-log", file)
			}
		}
	}
}
