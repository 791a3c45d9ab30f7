package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// kafka-consumer-groups with its options for classic groups prints the same
// about three nodes of ours as about Apache Kafka, command by command.
func TestKafkaConsumerGroupsPrintsWhatApacheKafkaHasItPrint(t *testing.T) {
	t.Parallel()
	commands, err := os.ReadFile("testdata/group-commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	script := strings.NewReplacer(
		"ONE", itest.WriteFile(t, "one.csv", "a,0,2\na,1,3\n"),
		"MANY", itest.WriteFile(t, "many.csv", "g2,a,0,1\ng3,b,1,2\n"),
		"BAD", itest.WriteFile(t, "bad.csv", "a,zero,2\n"),
	).Replace(string(commands))

	theirs, files := newFolders(t, itest.OneNode)
	theyFormat(t, files)
	they(t, files)
	itest.AwaitPort(t, theirs.Addr)
	want := groupCommands(t, theirs.Addr, script, 1)
	got := groupCommands(t, itest.ThreeNodes.StartDev(t).Addr, script, 3)
	if len(want) < 60 || len(got) != len(want) {
		t.Fatalf("%d answers of ours, %d of Apache Kafka", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("Apache Kafka has it print\n%s\nand we\n%s", want[i], got[i])
		}
	}
}

// groupCommands makes groups that commands can be tried on and gives what came
// of each command. Their topics have so many replicas.
func groupCommands(t *testing.T, addr, script string, replicas int16) []string {
	t.Helper()
	admin := kadm.NewClient(connect(t, addr))
	for _, topic := range []string{"a", "b"} {
		if _, err := admin.CreateTopic(t.Context(), 3, replicas, nil, topic); err != nil {
			t.Fatal(err)
		}
		for p := range 3 {
			itest.Kcat(t, text(lines("r", 10)), "-b", addr, "-P", "-t", topic, "-p", fmt.Sprint(p), "-X", "topic.acks=all")
		}
	}
	// g1 has two members; g2 had one; g3 never had any.
	for range 2 {
		cl := connect(t, addr, kgo.ConsumerGroup("g1"), kgo.ConsumeTopics("a"), kgo.ClientID("live"), kgo.Balancers(kgo.RangeBalancer()),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(200*time.Millisecond))
		go func() {
			for !cl.PollFetches(t.Context()).IsClientClosed() && t.Context().Err() == nil {
			}
		}()
	}
	itest.Kcat(t, "", "-b", addr, "-X", "auto.offset.reset=earliest", "-q", "-c", "60", "-G", "g2", "a", "b")
	at := kadm.Offsets{}
	at.AddOffset("b", 0, 5, -1)
	if err := admin.CommitAllOffsets(t.Context(), "g3", at); err != nil {
		t.Fatal(err)
	}
	itest.Eventually(t, func() error {
		described, err := admin.DescribeGroups(t.Context(), "g1")
		if g := described["g1"]; err == nil && (g.State != "Stable" || len(g.Members) != 2) {
			err = fmt.Errorf("g1 is %s with %d members", g.State, len(g.Members))
		}
		if err != nil {
			return err
		}
		committed, err := admin.FetchOffsets(t.Context(), "g1")
		sum := int64(0)
		committed.Each(func(o kadm.OffsetResponse) { sum += o.At })
		if err == nil && sum < 30 {
			err = fmt.Errorf("g1 has committed %d of 30 records", sum)
		}
		return err
	})
	out, err := itest.JavaInput(t, script, filepath.Join(itest.Root(), "itest/kafka/GroupCommands.java"), addr)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var answers []string
	for _, answer := range strings.Split(out, "## ")[1:] {
		answers = append(answers, essence(answer))
	}
	return answers
}

// What differs from run to run: addresses, members' ids, how wide that makes a
// column, and when something was logged.
var (
	anAddress = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	anID      = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	aNode     = regexp.MustCompile(`ADDRESS +\(\d+\)`)
	aTime     = regexp.MustCompile(`\[\d{4}-[^\]]*\] `)
	spaces    = regexp.MustCompile(` +`)
)

// essence takes from an answer what differs from run to run, and the order of
// lines, which is that of a hash table in the tool.
func essence(answer string) string {
	for _, r := range []struct {
		what *regexp.Regexp
		with string
	}{{anAddress, "ADDRESS"}, {anID, "ID"}, {aNode, "NODE"}, {aTime, ""}, {spaces, " "}} {
		answer = r.what.ReplaceAllString(answer, r.with)
	}
	all := strings.Split(strings.TrimSpace(answer), "\n")
	slices.Sort(all[1:])
	return strings.Join(all, "\n")
}

func connect(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(addr, ",")...), kgo.RetryTimeout(itest.Stuck)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}
