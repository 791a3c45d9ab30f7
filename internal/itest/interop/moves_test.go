package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// numbered writes numbered records to partition 0 of a topic, with acks=all, until it is
// stopped.
type numbered struct {
	acked []string
	end   context.CancelFunc
	done  sync.WaitGroup
}

func startNumbered(t *testing.T, addr, topic string) *numbered {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &numbered{end: cancel}
	w.done.Go(func() {
		defer cl.Close()
		for n := 0; ctx.Err() == nil; n++ {
			value := fmt.Sprintf("%07d %s", n, strings.Repeat("x", 2000))
			// A record that is begun is ended: it is acknowledged, however often the
			// broker dies meanwhile.
			if err := cl.ProduceSync(context.Background(), kgo.StringRecord(value)).FirstErr(); err != nil {
				t.Errorf("record %d: %v", n, err)
				return
			}
			w.acked = append(w.acked, value[:7])
		}
	})
	return w
}

// dirOf tells where a replica lies by DescribeLogDirs, and whether it moves.
func dirOf(t *testing.T, cl *kadm.Client, topic string) (dir string, moving bool, err error) {
	t.Helper()
	all, err := cl.DescribeBrokerLogDirs(context.Background(), 1, nil)
	if err != nil {
		return "", false, err
	}
	all.Each(func(d kadm.DescribedLogDir) {
		d.Topics.Each(func(p kadm.DescribedLogDirPartition) {
			switch {
			case p.Topic != topic:
			case p.IsFuture:
				moving = true
			default:
				dir = d.Dir
			}
		})
	})
	return dir, moving, nil
}

// plainIn are the folders of a partition in data directories, other than those that
// wait for their removal.
func plainIn(t *testing.T, dirs []string, partition string) (found []string) {
	t.Helper()
	for _, d := range dirs {
		entries, err := os.ReadDir(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if (e.Name() == partition || strings.HasPrefix(e.Name(), partition+".")) && !strings.HasSuffix(e.Name(), "-delete") {
				found = append(found, filepath.Join(d, e.Name()))
			}
		}
	}
	return found
}

// Rule (KIP-113, case J-06): Kafka's tool has a replica move between the directories of a
// broker under load, first held back by its throttle, then free; the broker is killed in
// the middle of a second move, which goes on by itself; ottla's command has it moved
// back. Every acknowledged record is there once, and there is one folder.
func TestKafkasToolMovesAReplicaBetweenDirectories(t *testing.T) {
	t.Parallel()
	root := itest.Folder(t)
	dirs := []string{filepath.Join(root, "d1"), filepath.Join(root, "d2"), filepath.Join(root, "d3")}
	c := itest.StartCluster(t, 1, "offsets.topic.replication.factor=1\nlog.dirs="+strings.Join(dirs, ",")+"\nlog.segment.bytes=1048576\n", nil)
	node := c.Nodes[0]
	raw, err := kgo.NewClient(kgo.SeedBrokers(node.Addr))
	if err != nil {
		t.Fatal(err)
	}
	cl := kadm.NewClient(raw)
	t.Cleanup(cl.Close)
	if _, err := cl.CreateTopic(context.Background(), 1, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	load := startNumbered(t, node.Addr, "t")
	itest.Eventually(t, func() error {
		ends, err := cl.ListEndOffsets(context.Background(), "t")
		if end, _ := ends.Lookup("t", 0); err == nil && end.Offset < 2000 { // of 2 KB each
			err = errors.New("too little was written")
		}
		return err
	})
	from, _, err := dirOf(t, cl, "t")
	if err != nil {
		t.Fatal(err)
	}
	var others []string
	for _, d := range dirs {
		if d != from {
			others = append(others, d)
		}
	}
	tool := func(to, args string) string {
		t.Helper()
		plan := itest.WriteFile(t, "plan.json", fmt.Sprintf(`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":[%q]}]}`, to))
		return itest.MustKafkaTool(t, "", "kafka-reassign-partitions", strings.Fields("--bootstrap-server "+node.Addr+" --reassignment-json-file "+plan+" "+args)...)
	}
	says := func(out, want string) {
		t.Helper()
		if !strings.Contains(out, want) {
			t.Fatalf("the tool does not say %q:\n%s", want, out)
		}
	}
	arrived := func(to string) {
		t.Helper()
		itest.Eventually(t, func() error {
			at, moving, err := dirOf(t, cl, "t")
			if err == nil && (at != to || moving) {
				err = fmt.Errorf("t-0 is in %s, moving %v, want it in %s", at, moving, to)
			}
			return err
		})
	}

	says(tool(others[0], "--execute --replica-alter-log-dirs-throttle 200000"), "Successfully started moving log directory")
	says(tool(others[0], "--verify --preserve-throttles"), "is still in progress")
	if got := plainIn(t, dirs, "t-0"); len(got) != 2 || !strings.HasSuffix(got[0]+got[1], "-future") && !strings.Contains(got[0], "-future") {
		t.Errorf("folders during the move: %v", got)
	}
	says(tool(others[0], "--execute --additional --replica-alter-log-dirs-throttle 1000000000"), "Successfully started moving log directory")
	arrived(others[0])
	says(tool(others[0], "--verify"), "completed successfully")

	// A second move is held back again, and the broker killed in the middle of it.
	says(tool(others[1], "--execute --replica-alter-log-dirs-throttle 200000"), "Successfully started moving log directory")
	time.Sleep(300 * time.Millisecond)
	node.Proc.Kill()
	node.Again(t)
	node.AwaitReady(t)
	if at, moving, err := dirOf(t, cl, "t"); err != nil || at != others[0] || !moving {
		t.Errorf("after the kill t-0 is in %s, moving %v (%v)", at, moving, err)
	}
	says(tool(others[1], "--execute --additional --replica-alter-log-dirs-throttle 1000000000"), "Successfully started moving log directory")
	arrived(others[1])

	out := itest.Ottla(t, "", "log-dirs", "move", "t", "--broker", "1", "--to", from, "--wait", "--bootstrap-server", node.Addr)
	says(out, "t-0 moves to "+from)
	says(out, "1 replicas are there")
	load.end()
	load.done.Wait()
	if got := plainIn(t, dirs, "t-0"); len(got) != 1 || got[0] != filepath.Join(from, "t-0") {
		t.Errorf("folders after the moves: %v", got)
	}
	readOnce(t, node.Addr, load.acked)
}

// readOnce compares what a partition holds with what was acknowledged, in order. A record
// whose answer the kill took away may be there already.
func readOnce(t *testing.T, addr string, want []string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	next := int64(0)
	for len(want) > 0 {
		got := cl.PollFetches(ctx)
		if err := got.Err(); err != nil {
			t.Fatalf("%d records are not read: %v", len(want), err)
		}
		got.EachRecord(func(r *kgo.Record) {
			if r.Offset != next {
				t.Errorf("offset %d follows %d", r.Offset, next-1)
			}
			next = r.Offset + 1
			switch {
			case len(want) == 0:
			case string(r.Value[:7]) == want[0]:
				want = want[1:]
			default:
				t.Errorf("offset %d is %s, want %s", r.Offset, r.Value[:7], want[0])
			}
		})
		if t.Failed() {
			return
		}
	}
}
