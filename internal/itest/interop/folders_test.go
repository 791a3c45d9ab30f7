package interop

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// few keeps what is written about groups in a few folders.
const few = "offsets.topic.num.partitions=3"

// newFolders has folders and ports for the nodes of a world, which either kind
// can run. They are not formatted.
func newFolders(t *testing.T, w itest.World) (d *itest.Dev, files []string) {
	t.Helper()
	d = w.NewDev(t, "--override", few)
	return d, d.Files(t, few)
}

// theyFormat has Apache Kafka format the folders. What a node of ours does not
// serve is left at 0.
func theyFormat(t *testing.T, files []string) {
	t.Helper()
	for _, file := range files {
		itest.MustKafkaTool(t, "", "kafka-storage", "format", "-c", file, "-t", clusterID,
			"--feature", "group.version=0", "--feature", "transaction.version=0", "--feature", "share.version=0", "--feature", "streams.version=0")
	}
}

// we run the nodes on their folders, they do with Apache Kafka. A folder that
// is not formatted yet we format.
func we(t *testing.T, d *itest.Dev) []*itest.Proc {
	t.Helper()
	d.Again(t)
	return []*itest.Proc{d.Proc}
}

func they(t *testing.T, files []string) (all []*itest.Proc) {
	t.Helper()
	for _, file := range files {
		all = append(all, itest.StartKafka(t, file))
	}
	return all
}

var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// fill writes records of each kind to a new topic and commits a group's offsets.
func fill(t *testing.T, d *itest.Dev, w itest.World, topic string) {
	t.Helper()
	itest.Eventually(t, func() error { // once all brokers are there for the replicas
		out, err := itest.Run("", exec.Command(itest.Bin(t), "topics", "--bootstrap-server", d.Addr, "--create", "--if-not-exists",
			"--topic", topic, "--partitions", "3", "--replication-factor", fmt.Sprint(w.Replicas())))
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	for _, codec := range codecs {
		itest.Kcat(t, text(lines(codec, 200)), "-b", d.Addr, "-P", "-t", topic, "-X", "topic.acks=all", "-X", "compression.codec="+codec)
	}
	itest.Kcat(t, "", "-b", d.Addr, "-G", "readers of "+topic, topic, "-c", "1000", "-q", "-X", "auto.offset.reset=earliest")
}

// check reads everything back and asks for the group.
func check(t *testing.T, d *itest.Dev, topic string) {
	t.Helper()
	for addr := range strings.SplitSeq(d.Addr, ",") {
		itest.AwaitPort(t, addr)
	}
	var want []string
	for _, codec := range codecs {
		want = append(want, lines(codec, 200)...)
	}
	got := itest.Kcat(t, "", "-b", d.Addr, "-C", "-t", topic, "-o", "beginning", "-e", "-q")
	sameLines(t, topic, strings.Split(strings.TrimSuffix(got, "\n"), "\n"), want)
	out := itest.MustKafkaTool(t, "", "kafka-consumer-groups", "--bootstrap-server", d.Addr, "--describe", "--group", "readers of "+topic)
	if rows := times(out, `^readers of `+topic+` .* 0 +-`); rows == 0 {
		t.Errorf("the group has no offsets without lag: %s", out)
	}
}

func TestApacheKafkaServesFoldersOfOurs(t *testing.T) {
	itest.InEachWorld(t, apacheKafkaServesFoldersOfOurs)
}

func apacheKafkaServesFoldersOfOurs(t *testing.T, w itest.World) {
	d, files := newFolders(t, w)
	running := we(t, d)
	fill(t, d, w, "ours")
	itest.StopAll(t, running)
	running = they(t, files)
	check(t, d, "ours")
	fill(t, d, w, "theirs")
	itest.StopAll(t, running)
	// and back again, after a life with the other kind
	we(t, d)
	check(t, d, "ours")
	check(t, d, "theirs")
}

func TestWeServeFoldersOfApacheKafka(t *testing.T) {
	itest.InEachWorld(t, weServeFoldersOfApacheKafka)
}

func weServeFoldersOfApacheKafka(t *testing.T, w itest.World) {
	d, files := newFolders(t, w)
	theyFormat(t, files)
	running := they(t, files)
	fill(t, d, w, "theirs")
	itest.KillAll(running) // not even a clean stop
	running = we(t, d)
	check(t, d, "theirs")
	fill(t, d, w, "ours")
	itest.KillAll(running)
	they(t, files)
	check(t, d, "ours")
}

// kafka-dump-log reads every file we write and finds as many records as were
// written, on each node.
func TestKafkasDumpLogReadsEveryFileOfOurs(t *testing.T) {
	itest.InEachWorld(t, kafkasDumpLogReadsEveryFileOfOurs)
}

func kafkasDumpLogReadsEveryFileOfOurs(t *testing.T, w itest.World) {
	d, _ := newFolders(t, w)
	running := we(t, d)
	fill(t, d, w, "t")
	itest.StopAll(t, running)

	left := map[string]bool{} // the files of a kind that the tool knows
	for _, kind := range []string{".log", ".index", ".timeindex", ".snapshot", ".txnindex", ".checkpoint"} {
		for _, file := range files(t, d.Data, "*"+kind) {
			left[file] = true
		}
	}
	// dump reads the files of all nodes whose path below the folder of a node
	// matches one of the patterns.
	dump := func(patterns []string, flags ...string) string {
		t.Helper()
		var list []string
		for _, folder := range d.Folders() {
			for _, pattern := range patterns {
				list = append(list, files(t, folder, pattern)...)
			}
		}
		if len(list) == 0 {
			t.Fatalf("no file is named %v", patterns)
		}
		for _, file := range list {
			delete(left, file)
		}
		out := itest.MustKafkaTool(t, "", "kafka-dump-log", append([]string{"--files", strings.Join(list, ",")}, flags...)...)
		for _, bad := range []string{"Exception", "Mismatch", "isvalid: false", "corrupt", "Could not"} {
			if strings.Contains(out, bad) {
				t.Errorf("dump-log of %v: %s in\n%.3000s", patterns, bad, out)
			}
		}
		return out
	}
	out := dump([]string{"t-*/*.log"}, "--deep-iteration", "--print-data-log")
	if n := strings.Count(out, "payload: "); n != 1000*w.Replicas() {
		t.Errorf("dump-log finds %d records of 1000 on %d nodes", n, w.Replicas())
	}
	dump([]string{"*/*.index", "*/*.timeindex"}, "--verify-index-only")
	dump([]string{"*/*.snapshot"})
	out = dump([]string{"__cluster_metadata-0/*.log"}, "--cluster-metadata-decoder")
	says(t, out, `REGISTER_BROKER_RECORD`, `TOPIC_RECORD`, `PARTITION_RECORD`, `LeaderChange`)
	says(t, dump([]string{"__cluster_metadata-0/*.checkpoint"}, "--cluster-metadata-decoder"), `SnapshotHeader`)
	out = dump([]string{"__consumer_offsets-*/*.log"}, "--offsets-decoder")
	says(t, out, `"group":"readers of t"`)
	for file := range left {
		t.Errorf("%s was not read", file)
	}
}

// Our dump-log reads what Apache Kafka wrote.
func TestOurDumpLogReadsApacheKafkasFiles(t *testing.T) {
	itest.InEachWorld(t, ourDumpLogReadsApacheKafkasFiles)
}

func ourDumpLogReadsApacheKafkasFiles(t *testing.T, w itest.World) {
	d, properties := newFolders(t, w)
	theyFormat(t, properties)
	running := they(t, properties)
	fill(t, d, w, "t")
	itest.StopAll(t, running)
	out := itest.Ottla(t, "", append([]string{"dump-log", "--json", "--print-data-log"}, files(t, d.Data, "t-*/*.log")...)...)
	if n := strings.Count(out, `"value"`); n < 1000*w.Replicas() {
		t.Errorf("%d records of 1000 on %d nodes", n, w.Replicas())
	}
	for _, pattern := range []string{"*.log", "*.index", "*.timeindex", "*.snapshot", "*.checkpoint", "*-checkpoint", "partition.metadata", "meta.properties", "quorum-state"} {
		found := files(t, d.Data, pattern)
		if len(found) == 0 {
			t.Errorf("Kafka wrote no %s", pattern)
		}
		itest.Ottla(t, "", append([]string{"dump-log"}, found...)...)
	}
}
