package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// startDev runs "ottla dev" beside the test and returns where it listens.
func startDev(t *testing.T, args ...string) (bootstrap string) {
	t.Helper()
	bootstrap, _ = startDevUntil(t, args...)
	return bootstrap
}

// startDevUntil is startDev for tests that end the node before they end.
func startDevUntil(t *testing.T, args ...string) (bootstrap string, end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	ended := make(chan int, 1)
	args = append([]string{"dev", "--data", filepath.Join(t.TempDir(), "data"), "--port", "0", "--log-level", "error"}, args...)
	var errOut strings.Builder
	go func() {
		ended <- run(ctx, args, nil, writer, &errOut)
		writer.Close()
	}()
	end = sync.OnceFunc(func() {
		stop()
		_, _ = io.Copy(io.Discard, reader)
		if status := <-ended; status != 0 {
			t.Errorf("dev ended with status %d: %s", status, errOut.String())
		}
	})
	t.Cleanup(end)
	lines := bufio.NewScanner(reader)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "bootstrap" {
			bootstrap = fields[2]
		}
		if lines.Text() == "Ctrl-C stops it." {
			return bootstrap, end
		}
	}
	t.Fatal("dev was never ready")
	return "", nil
}

// topicID finds ids that no test can know.
var topicID = regexp.MustCompile(`TopicId: \S+`)

// Rule: the everyday tools make, show, change and delete what they name, in the
// words of Kafka's scripts, and their answers are tables or JSON.
func TestEverydayTools(t *testing.T) {
	at := startDev(t)
	f := func(want, in string, args ...string) {
		t.Helper()
		got := succeeds(t, in, append(args, "--bootstrap-server", at)...)
		got = strings.ReplaceAll(topicID.ReplaceAllString(got, "TopicId: ?"), at, strings.Repeat("@", len(at)))
		if got != want {
			t.Errorf("ottla %s\n got %s\nwant %s", strings.Join(args, " "), got, want)
		}
	}
	no := func(want string, args ...string) {
		t.Helper()
		refuses(t, "ottla: "+want, append(args, "-b", at)...)
	}

	no(`describe group "nope": GROUP_ID_NOT_FOUND: there is no such group`, "groups", "--describe", "--group", "nope") // the first question about groups
	f("", "", "topics", "--list", "--exclude-internal")
	f("Created topic t.\n", "", "topics", "--create", "--topic", "t", "--partitions", "2", "--config", "retention.ms=60000")
	f("Created topic u.\n", "", "topics", "create", "--topic", "u", "--replica-assignment", "1,1")
	f("t\nu\n", "", "topics", "list", "--exclude-internal")
	f("[\n  \"t\",\n  \"u\"\n]\n", "", "topics", "list", "--json", "--exclude-internal")
	f("", "", "topics", "--create", "--topic", "t", "--if-not-exists")
	f(`Topic: t  TopicId: ?  PartitionCount: 2  ReplicationFactor: 1  Configs: retention.ms=60000

TOPIC  PARTITION  LEADER  EPOCH  REPLICAS  ISR  OFFLINE
t      0          1       0      1         1
t      1          1       0      1         1
`, "", "topics", "--describe", "--topic", "t")
	f("Topic t has 3 partitions.\n", "", "topics", "--alter", "--topic", "t", "--partitions", "3")
	f("Deleted topic u.\n", "", "topics", "--delete", "--topic", "u")
	f("", "", "topics", "--delete", "--topic", "u", "--if-exists")
	f("", "", "topics", "--describe", "--topic", "u", "--if-exists")
	no(`describe topic "u": UNKNOWN_TOPIC_OR_PARTITION: it does not exist`, "topics", "--describe", "--topic", "u")

	f("NAME          VALUE  SOURCE\nretention.ms  60000  DYNAMIC_TOPIC_CONFIG\n", "", "configs", "--describe", "--topic", "t")
	f("Completed updating config for topic t.\n", "", "configs", "--alter", "--entity-type", "topics", "--entity-name", "t", "--add-config", "cleanup.policy=[compact,delete]", "--delete-config", "retention.ms")
	f("NAME            VALUE           SOURCE\ncleanup.policy  compact,delete  DYNAMIC_TOPIC_CONFIG\n", "", "configs", "--describe", "--topic", "t")
	f("Completed updating config for all brokers.\n", "", "configs", "--alter", "--broker-defaults", "--add-config", "log.retention.ms=5")
	f("[\n  {\n    \"name\": \"log.retention.ms\",\n    \"value\": \"5\",\n    \"source\": \"DYNAMIC_DEFAULT_BROKER_CONFIG\",\n    \"sensitive\": false\n  },\n  {\n    \"name\": \"min.insync.replicas\",\n    \"value\": \"1\",\n    \"source\": \"DYNAMIC_DEFAULT_BROKER_CONFIG\",\n    \"sensitive\": false\n  }\n]\n", "", "configs", "--describe", "--broker-defaults", "--json")
	f("broker 1 has no settings of its own (--all prints the others)\n", "", "configs", "--describe", "--broker", "1")
	no("alter settings of topic t: INVALID_CONFIG: Invalid value bad for configuration segment.ms: Not a number of type LONG", "configs", "--alter", "--topic", "t", "--add-config", "segment.ms=bad")
	no("describe settings of broker 9: unknown broker", "configs", "--describe", "--broker", "9")
	no("invalid config(s): nope", "configs", "--alter", "--topic", "t", "--delete-config", "nope,cleanup.policy")
	no("--alter needs --add-config or --delete-config", "configs", "--alter", "--topic", "t")

	f("", "k:v\nk:w\n", "produce", "--topic", "t", "--key-separator", ":", "--partition", "1", "--compression", "zstd")
	f("k=v\n", "", "consume", "--topic", "t", "--from-beginning", "--max-messages", "1", "--property", "print.key=true", "--property", "key.separator==", "--group", "g")
	f("w\n", "", "consume", "--topic", "t", "--from-beginning", "--max-messages", "1", "--group", "g")
	f("w\n", "", "consume", "--topic", "t", "--partition", "1", "--offset", "1", "--max-messages", "1")
	f("v\nw\n", "", "consume", "--include", "^t$", "--from-beginning", "--timeout-ms", "1000")
	no(`topic "nope" does not exist; create it with ottla topics --create --topic nope`, "consume", "--topic", "nope")
	no(`topic "t" has 3 partitions, so there is no partition 7`, "consume", "--topic", "t", "--partition", "7")

	f("g\n", "", "groups", "--list")
	f("GROUP  TYPE     PROTOCOL  STATE\ng      classic  consumer  Empty\n", "", "groups", "--list", "--state")
	f("GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID\ng      t      1          2               2               0    -            -     -\n", "", "groups", "--describe", "--group", "g")
	blanks := strings.Repeat(" ", len(at)+len(" (1)")-len("COORDINATOR"))
	f("GROUP  COORDINATOR"+blanks+"  ASSIGNMENT-STRATEGY  STATE  #MEMBERS\ng      "+strings.Repeat("@", len(at))+" (1)  -                    Empty  0\n", "", "groups", "--describe", "--all-groups", "--state")
	f("GROUP  TOPIC  PARTITION  NEW-OFFSET\ng      t      1          1\n", "", "groups", "--reset-offsets", "--group", "g", "--topic", "t:1", "--shift-by", "-1", "--execute")
	f("GROUP  TOPIC  PARTITION  NEW-OFFSET\ng      t      1          2\n", "", "groups", "--reset-offsets", "--group", "g", "--all-topics", "--to-offset", "99")
	no(`topic "t" has no partition "8"`, "groups", "--reset-offsets", "--group", "g", "--topic", "t:8", "--to-latest")
	f("Deleted offsets of group g.\n", "", "groups", "--delete-offsets", "--group", "g", "--topic", "t:1")
	f("Deleted group g.\n", "", "groups", "--delete", "--group", "g")
	no(`delete group "g": GROUP_ID_NOT_FOUND: there is no such group`, "groups", "--delete", "--group", "g")

	var q quorumState
	answer := succeeds(t, "", "metadata-quorum", "describe", "--replication", "--json", "-b", at)
	if err := json.Unmarshal([]byte(answer), &q); err != nil || q.Leader != 1 || len(q.Replicas) != 1 || q.Replicas[0].Status != "Leader" || q.ClusterID == "" {
		t.Errorf("quorum: %v\n%s", err, answer)
	}
	for _, view := range []string{"--status", "--replication"} {
		if got := succeeds(t, "", "metadata-quorum", "describe", view, "--human-readable", "-b", at); !strings.Contains(got, "LeaderId:") && !strings.Contains(got, "Leader\n") {
			t.Errorf("%s: %s", view, got)
		}
	}
	someDir := "MtM8IH77SCCCRAK4-Wn1cQ"
	no("change of the voters: UNSUPPORTED_VERSION: the voters are static: kraft.version is 0", "metadata-quorum", "remove-controller", "-i", "1", "-d", someDir)
	no(`--controller-directory-id "x": "x" is not an id: want 22 characters of URL-safe base64`, "metadata-quorum", "remove-controller", "-i", "1", "-d", "x")
	f("DRY RUN: not removed: KRaft controller 1 with directory id "+someDir+"\n", "", "metadata-quorum", "remove-controller", "-i", "1", "-d", someDir, "--dry-run")
	dirs := succeeds(t, "", "log-dirs", "--topic-list", "t", "-b", at)
	if !strings.Contains(dirs, "online") || !strings.Contains(dirs, "t-1") || strings.Contains(dirs, "__consumer_offsets") {
		t.Errorf("log-dirs: %s", dirs)
	}
	no(`topic "nope" does not exist`, "log-dirs", "--topic-list", "t,nope")
	no("broker 5 does not exist or does not answer", "log-dirs", "--broker-list", "5")
}

// Rule: 10,000 lines come back as they went in, in order.
func TestTenThousandLines(t *testing.T) {
	at := startDev(t, "--disks", "2")
	var lines strings.Builder
	for i := range 10_000 {
		fmt.Fprintln(&lines, "line", i)
	}
	succeeds(t, lines.String(), "produce", "--topic", "lines", "-b", at)
	if got := succeeds(t, "", "consume", "--topic", "lines", "--from-beginning", "--max-messages", "10000", "-b", at); got != lines.String() {
		t.Errorf("%d bytes came back of %d", len(got), lines.Len())
	}
}

// Rule: a line without the separator, and one that is too large, are told by
// their number.
func TestProduceRefusals(t *testing.T) {
	at := startDev(t)
	f := func(in, want string, args ...string) {
		t.Helper()
		status, _, errOut := ottla(t, in, append([]string{"produce", "--topic", "t", "-b", at}, args...)...)
		if status != 1 || !strings.HasPrefix(errOut, "ottla: "+want) {
			t.Errorf("status %d: %s", status, errOut)
		}
	}
	f("a:b\nc\n", `line 2 has no key separator ":": "c"`, "--key-separator", ":")
	f(strings.Repeat("x", 2<<20)+"\n", "line 1 was refused: MESSAGE_TOO_LARGE")
}
