package itest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// KafkaVersion is the release of Apache Kafka that stands beside us.
const KafkaVersion = "4.4.0"

// kafkaLib is the folder of the jars of a release of Kafka.
func kafkaLib(t testing.TB, version string) string {
	t.Helper()
	if lib := os.Getenv("KAFKA_LIB"); lib != "" && version == KafkaVersion {
		return lib
	}
	cache := os.Getenv("OTTLA_CACHE")
	if cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(base, "ottla")
	}
	lib := filepath.Join(cache, "kafka-"+version, "lib")
	if _, err := os.Stat(filepath.Join(lib, ".complete")); err != nil {
		t.Fatalf("Apache Kafka's jars are missing: run make deps (%v)", err)
	}
	return lib
}

// java is a command that runs a class, or a source file, on Kafka's jars.
func java(t testing.TB, heap string, args ...string) *exec.Cmd {
	t.Helper()
	return javaOf(t, KafkaVersion, heap, args...)
}

// javaOf is java on the jars of a release.
func javaOf(t testing.TB, version, heap string, args ...string) *exec.Cmd {
	t.Helper()
	base := []string{"-Xmx" + heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dlog4j2.configurationFile=" + filepath.Join(Root(), "itest", "kafka", "log4j2.xml"),
		"-cp", kafkaLib(t, version) + "/*"}
	return exec.Command("java", append(base, args...)...)
}

// tools are the classes behind the scripts of Kafka's distribution.
var tools = map[string]string{
	"kafka-topics":              "org.apache.kafka.tools.TopicCommand",
	"kafka-configs":             "org.apache.kafka.tools.ConfigCommand",
	"kafka-console-producer":    "org.apache.kafka.tools.ConsoleProducer",
	"kafka-console-consumer":    "org.apache.kafka.tools.consumer.ConsoleConsumer",
	"kafka-get-offsets":         "org.apache.kafka.tools.GetOffsetShell",
	"kafka-delete-records":      "org.apache.kafka.tools.DeleteRecordsCommand",
	"kafka-metadata-quorum":     "org.apache.kafka.tools.MetadataQuorumCommand",
	"kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
	"kafka-log-dirs":            "org.apache.kafka.tools.LogDirsCommand",
	"kafka-producer-perf-test":  "org.apache.kafka.tools.ProducerPerformance",
	"kafka-consumer-groups":     "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
	"kafka-features":            "org.apache.kafka.tools.FeatureCommand",
	"kafka-cluster":             "org.apache.kafka.tools.ClusterTool",
	"kafka-leader-election":     "org.apache.kafka.tools.LeaderElectionCommand",
	"kafka-dump-log":            "org.apache.kafka.tools.DumpLogSegments",
	"kafka-storage":             "kafka.tools.StorageTool",
	"kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
	"kafka-client-metrics":      "org.apache.kafka.tools.ClientMetricsCommand",
	"kafka-groups":              "org.apache.kafka.tools.GroupsCommand",
	"kafka-transactions":        "org.apache.kafka.tools.TransactionsCommand",
	"kafka-acls":                "org.apache.kafka.tools.AclCommand",
	"kafka-delegation-tokens":   "org.apache.kafka.tools.DelegationTokenCommand",
	"kafka-verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
	"kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
}

// KafkaTool runs one of Kafka's scripts and returns what it printed.
func KafkaTool(t testing.TB, stdin, script string, args ...string) (string, error) {
	t.Helper()
	class, ok := tools[script]
	if !ok {
		t.Fatalf("unknown script %s", script)
	}
	return Run(stdin, java(t, "256m", append([]string{class}, args...)...))
}

// MustKafkaTool fails the test when the script fails.
func MustKafkaTool(t testing.TB, stdin, script string, args ...string) string {
	t.Helper()
	out, err := KafkaTool(t, stdin, script, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", script, strings.Join(args, " "), err, out)
	}
	return out
}

// JavaSource compiles and runs a single source file on Kafka's jars.
func JavaSource(t testing.TB, file string, args ...string) (string, error) {
	t.Helper()
	return Run("", java(t, "256m", append([]string{file}, args...)...))
}

// JavaInput is JavaSource for a program that reads its standard input.
func JavaInput(t testing.TB, stdin, file string, args ...string) (string, error) {
	t.Helper()
	return Run(stdin, java(t, "256m", append([]string{file}, args...)...))
}

// StartKafka starts an Apache Kafka server on a properties file.
func StartKafka(t testing.TB, properties string) *Proc {
	t.Helper()
	return StartKafkaOf(t, KafkaVersion, properties)
}

// StartKafkaOf starts a server of a release that scripts/deps.sh installs.
func StartKafkaOf(t testing.TB, version, properties string) *Proc {
	t.Helper()
	return Start(t, "Apache Kafka "+version, javaOf(t, version, "512m", "kafka.Kafka", properties))
}

// FormatKafkaOf formats a node's directories with the tool of a release that
// scripts/deps.sh installs.
func FormatKafkaOf(t testing.TB, version, properties, clusterID string) {
	t.Helper()
	out, err := javaOf(t, version, "128m", tools["kafka-storage"], "format", "--config", properties, "--cluster-id", clusterID).CombinedOutput()
	if err != nil {
		t.Fatalf("kafka-storage format of %s: %v\n%s", version, err, out)
	}
}

// KafkaServer is a server of a release on a properties file. Unlike StartKafka's it
// says what it does, not only what is wrong.
func KafkaServer(t testing.TB, version, properties string) *exec.Cmd {
	t.Helper()
	cmd := javaOf(t, version, "512m", "kafka.Kafka", properties)
	cmd.Args = append([]string{cmd.Args[0], "-Dottla.log.level=INFO"}, cmd.Args[1:]...)
	return cmd
}

// KafkaToolOf is one of Kafka's scripts as it was in a release.
func KafkaToolOf(t testing.TB, version, script string, args ...string) *exec.Cmd {
	t.Helper()
	class, ok := tools[script]
	if !ok {
		t.Fatalf("unknown script %s", script)
	}
	return javaOf(t, version, "256m", append([]string{class}, args...)...)
}

// AwaitPort waits until something listens on addr.
func AwaitPort(t testing.TB, addr string) {
	t.Helper()
	Eventually(t, func() error {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return fmt.Errorf("nothing listens on %s: %w", addr, err)
		}
		return c.Close()
	})
}

// Kcat runs kcat and returns what it printed on standard output.
func Kcat(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("kcat", args...)
	var errs strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kcat %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return string(out)
}
