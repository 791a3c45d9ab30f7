package interop

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/itest"
)

// Every script that people use daily. The order matters: a later script looks at
// what an earlier one made.
func TestKafkasTools(t *testing.T) {
	itest.InEachWorld(t, kafkasTools)
}

func kafkasTools(t *testing.T, w itest.World) {
	d := w.StartDev(t)
	replicas := fmt.Sprint(w.Replicas())
	// ids is a list with one node for each replica
	ids := `[1-3](,[1-3]){` + fmt.Sprint(w.Replicas()-1) + `}`
	kt := func(script string, args ...string) string { t.Helper(); return tool(t, d, script, args...) }

	t.Run("kafka-topics", func(t *testing.T) {
		kt("kafka-topics", "--create", "--topic", "made", "--partitions", "3", "--replication-factor", replicas, "--config", "retention.ms=1000000")
		says(t, kt("kafka-topics", "--describe", "--topic", "made"), `PartitionCount:\s*3\s+ReplicationFactor:\s*`+replicas, `retention.ms=1000000`, `Leader:\s*[1-3]\s+Replicas:\s*`+ids+`\s+Isr:\s*`+ids+`\s`)
		kt("kafka-topics", "--alter", "--topic", "made", "--partitions", "4")
		says(t, kt("kafka-topics", "--describe", "--topic", "made"), `PartitionCount:\s*4`)
		kt("kafka-topics", "--create", "--topic", "gone", "--partitions", "1")
		kt("kafka-topics", "--delete", "--topic", "gone")
		if list := kt("kafka-topics", "--list"); strings.Contains(list, "gone") || !strings.Contains(list, "made") {
			t.Errorf("listed: %s", list)
		}
		out, err := itest.KafkaTool(t, "", "kafka-topics", "--bootstrap-server", d.Addr, "--create", "--topic", "made")
		if err == nil {
			t.Errorf("created twice: %s", out)
		}
		says(t, out, `TopicExistsException`)
	})
	t.Run("kafka-configs", func(t *testing.T) {
		kt("kafka-configs", "--alter", "--entity-type", "topics", "--entity-name", "made", "--add-config", "max.message.bytes=20000")
		says(t, kt("kafka-configs", "--describe", "--entity-type", "topics", "--entity-name", "made"), `max.message.bytes=20000`, `DYNAMIC_TOPIC_CONFIG`)
		kt("kafka-configs", "--alter", "--entity-type", "topics", "--entity-name", "made", "--delete-config", "max.message.bytes")
		if out := kt("kafka-configs", "--describe", "--entity-type", "topics", "--entity-name", "made"); strings.Contains(out, "max.message.bytes") {
			t.Errorf("still set: %s", out)
		}
		says(t, kt("kafka-configs", "--describe", "--entity-type", "brokers", "--entity-name", "1", "--all"), `log.segment.bytes=`)
		out, err := itest.KafkaTool(t, "", "kafka-configs", "--bootstrap-server", d.Addr, "--alter", "--entity-type", "topics", "--entity-name", "made", "--add-config", "cleanup.policy=sideways")
		if err == nil {
			t.Errorf("took a wrong value: %s", out)
		}
		says(t, out, `InvalidConfigurationException`)
	})
	t.Run("kafka-console-producer and -consumer", func(t *testing.T) {
		want := lines("console", 300)
		itest.MustKafkaTool(t, text(want), "kafka-console-producer", "--bootstrap-server", d.Addr, "--topic", "made")
		out := kt("kafka-console-consumer", "--topic", "made", "--group", "console", "--from-beginning", "--max-messages", "300", "--timeout-ms", "30000")
		sameLines(t, "console", withPrefix(out, "console "), want)
	})
	t.Run("kafka-consumer-groups", func(t *testing.T) {
		says(t, kt("kafka-consumer-groups", "--list"), `^console$`)
		says(t, kt("kafka-topics", "--describe", "--topic", "__consumer_offsets"), `ReplicationFactor:\s*`+replicas, `Isr:\s*`+ids+`\s`)
		rows := withPrefix(kt("kafka-consumer-groups", "--describe", "--group", "console"), "console ")
		end := 0
		for _, row := range rows {
			cells := fields(row)
			if cells[5] != "0" {
				t.Errorf("lag in %q", row)
			}
			n, err := strconv.Atoi(cells[4])
			if err != nil {
				t.Fatalf("%q: %v", row, err)
			}
			end += n
		}
		if end != 300 {
			t.Errorf("end offsets sum up to %d: %q", end, rows)
		}
		says(t, kt("kafka-consumer-groups", "--describe", "--state", "--group", "console"), `console\s+.*Empty\s+0`)
		says(t, kt("kafka-consumer-groups", "--reset-offsets", "--group", "console", "--topic", "made", "--to-earliest", "--execute"), `console\s+made\s+\d\s+0`)
		kt("kafka-consumer-groups", "--delete-offsets", "--group", "console", "--topic", "made")
		kt("kafka-consumer-groups", "--delete", "--group", "console")
		if out := kt("kafka-consumer-groups", "--list"); strings.Contains(out, "console") {
			t.Errorf("still listed: %s", out)
		}
	})
	t.Run("kafka-get-offsets and -delete-records", func(t *testing.T) {
		sum := 0
		for _, row := range withPrefix(kt("kafka-get-offsets", "--topic", "made"), "made:") {
			n, err := strconv.Atoi(row[strings.LastIndex(row, ":")+1:])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if sum != 300 {
			t.Errorf("offsets sum up to %d", sum)
		}
		upTo := itest.WriteFile(t, "upto.json", `{"partitions":[{"topic":"made","partition":0,"offset":-1}],"version":1}`)
		says(t, kt("kafka-delete-records", "--offset-json-file", upTo), `partition: made-0\s+low_watermark: \d+`)
		early, late := kt("kafka-get-offsets", "--topic-partitions", "made:0", "--time", "earliest"), kt("kafka-get-offsets", "--topic-partitions", "made:0", "--time", "latest")
		if withPrefix(early, "made:")[0] != withPrefix(late, "made:")[0] {
			t.Errorf("after the deletion: %s, %s", early, late)
		}
	})
	t.Run("kafka-producer-perf-test", func(t *testing.T) {
		for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
			topic := "perf-" + codec
			kt("kafka-topics", "--create", "--topic", topic, "--partitions", "2")
			out := itest.MustKafkaTool(t, "", "kafka-producer-perf-test", "--topic", topic, "--num-records", "3000", "--record-size", "300",
				"--throughput", "-1", "--command-property", "bootstrap.servers="+d.Addr, "acks=all", "compression.type="+codec)
			says(t, out, `3000 records sent`)
			if got := itest.Kcat(t, "", "-b", d.Addr, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", "%S\n"); strings.Count(got, "300\n") != 3000 {
				t.Errorf("%s: read %d records", codec, strings.Count(got, "300\n"))
			}
		}
	})
	t.Run("kafka-metadata-quorum", func(t *testing.T) {
		says(t, kt("kafka-metadata-quorum", "describe", "--status"), `LeaderId:\s+[1-3]`, `LeaderEpoch:\s+[1-9]`, `MaxFollowerLag:\s+\d+$`, `CurrentObservers:\s+\[\]`)
		table := kt("kafka-metadata-quorum", "describe", "--replication")
		if leaders, followers := times(table, `^[1-3]\s+A{22}\s.*\sLeader\s*$`), times(table, `^[1-3]\s+A{22}\s.*\sFollower\s*$`); leaders != 1 || followers != w.Nodes-1 {
			t.Errorf("%d leaders and %d followers in:\n%s", leaders, followers, table)
		}
	})
	t.Run("kafka-broker-api-versions", func(t *testing.T) {
		out := kt("kafka-broker-api-versions")
		says(t, out, `Produce\(0\): `, `Fetch\(1\): 4 to 18`, `ApiVersions\(18\): 0 to 5`)
		if n := times(out, `\(id: [1-3] `); n != w.Nodes {
			t.Errorf("%d nodes of %d answer: %s", n, w.Nodes, out)
		}
	})
	t.Run("kafka-log-dirs", func(t *testing.T) {
		out := kt("kafka-log-dirs", "--describe", "--topic-list", "made")
		says(t, out, `"error":null`)
		for i, folder := range d.Folders() {
			says(t, out, fmt.Sprintf(`"broker":%d,`, i+1), `"logDir":"`+folder)
		}
		if n := times(out, `"partition":"made-0"`); n != w.Replicas() {
			t.Errorf("%d replicas of made-0: %s", n, out)
		}
	})
	t.Run("kafka-leader-election", func(t *testing.T) {
		says(t, kt("kafka-leader-election", "--election-type", "preferred", "--topic", "made", "--partition", "0"), `^Valid replica already elected for partitions made-0`)
	})
	t.Run("kafka-features", func(t *testing.T) {
		says(t, kt("kafka-features", "describe"), `metadata.version\s+.*FinalizedVersionLevel: 4.4-IV2`)
	})
	t.Run("kafka-cluster", func(t *testing.T) {
		says(t, itest.MustKafkaTool(t, "", "kafka-cluster", "cluster-id", "--bootstrap-server", d.Addr), `Cluster ID: \S{22}`)
	})
	if code := d.Stop(t); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

// adminAnswers is what each call of Kafka's Admin must begin with.
var adminAnswers = map[string]string{
	"listTopics": "ok ", "describeTopics": "ok ", "describeCluster": "ok ", "describeClusterControllers": "ok ",
	"describeAcls":          "SecurityDisabledException ",
	"describeConfigs topic": "ok ", "describeConfigs broker": "ok ", "describeConfigs logger": "ok ",
	"describeConfigs group": "ok ", "describeConfigs metrics": "ok ",
	"describeLogDirs": "ok ", "describeReplicaLogDirs": "ok ",
	"describeDelegationToken": "UnsupportedByAuthenticationException ",
	"describeConsumerGroups":  "ok ", "describeClassicGroups": "ok ",
	"describeShareGroups": "UnsupportedVersionException ", "describeStreamsGroups": "UnsupportedVersionException ",
	"listConsumerGroups": "ok ", "listGroups": "ok ", "listConsumerGroupOffsets": "ok ", "listStreamsGroupOffsets": "ok ",
	"listShareGroupOffsets":      "UnsupportedVersionException ",
	"listPartitionReassignments": "ok ",
	"listOffsets latest":         "ok ", "listOffsets earliest": "ok ", "listOffsets maxTimestamp": "ok ", "listOffsets timestamp": "ok ",
	"describeClientQuotas": "ok ", "describeUserScramCredentials": "ok ", "describeFeatures": "ok ", "describeMetadataQuorum": "ok ",
	"describeProducers": "ok ", "describeTransactions": "InvalidRequestException ", "listTransactions": "ok ",
	"listConfigResources": "ok ", "listClientMetricsResources": "ok ",
}

// Every describe and list call of Kafka's Admin gets an answer that a user
// interface can live with, and none hangs.
func TestEveryDescribeAndListCallIsAnswered(t *testing.T) {
	itest.InEachWorld(t, everyDescribeAndListCallIsAnswered)
}

func everyDescribeAndListCallIsAnswered(t *testing.T, w itest.World) {
	d := w.StartDev(t)
	itest.Kcat(t, text(lines("r", 100)), "-b", d.Addr, "-P", "-t", "t", "-X", "topic.acks=all")
	itest.Kcat(t, "", "-b", d.Addr, "-G", "g", "t", "-c", "100", "-q", "-X", "auto.offset.reset=earliest")
	out, err := itest.JavaSource(t, filepath.Join(itest.Root(), "itest/kafka/AdminCalls.java"), d.Addr, "t", "g", "1")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		call, answer, ok := strings.Cut(strings.TrimSpace(line), ": ")
		want, known := adminAnswers[call]
		if !ok || !known {
			continue
		}
		seen[call] = true
		if !strings.HasPrefix(answer, want) || strings.HasPrefix(answer, "TimeoutException") {
			t.Errorf("%s answered %.300s", call, answer)
		}
	}
	for call := range adminAnswers {
		if !seen[call] {
			t.Errorf("%s was not answered; output:\n%s", call, out)
		}
	}
}
