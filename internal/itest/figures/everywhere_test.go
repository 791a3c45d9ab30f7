package figures

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/itest"
)

var (
	manyTopics    = flag.Int("many-topics", 900, "topics that one request creates")
	perTopic      = flag.Int("many-partitions", 10, "partitions of each of them")
	keepFolders   = flag.Bool("keep-folders", false, "leave the nodes' folders: ext4 looks for free inodes among those of the files that were removed in the last minutes, which a round after a removal would pay for")
	createMillis  = int32(60_000)
	produceWithin = 10 * time.Minute
)

// BenchmarkFirstRecordEverywhere gives the time from one CreateTopics of 900 topics
// with 10 partitions each until each of the 9,000 partitions has acknowledged a
// record to one idempotent producer with acks=all: of one node with one replica each,
// and of three nodes with three replicas each, of which two have to be in sync. Each
// of -benchtime Nx rounds begins with empty folders.
func BenchmarkFirstRecordEverywhere(b *testing.B) {
	for _, s := range systems {
		for _, n := range []int{1, 3} {
			b.Run(fmt.Sprintf("%s/rf%d", s.name, n), func(b *testing.B) { s.firstRecordEverywhere(b, n) })
		}
	}
}

func (s system) firstRecordEverywhere(b *testing.B, n int) {
	var rounds []time.Duration
	for b.Loop() {
		b.StopTimer()
		addrs, procs := s.cluster(b, n)
		before := processor(b, procs)
		b.StartTimer()
		r := everywhere(b, addrs, n)
		b.StopTimer()
		b.Logf("%s, %d nodes, round %d: %v; processor time %v; memory %s", s.name, n, len(rounds)+1, r, processor(b, procs)-before, memory(b, procs))
		itest.KillAll(procs)
		rounds = append(rounds, r.all)
		b.StartTimer()
	}
	slices.Sort(rounds)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(rounds[len(rounds)/2]), "median-ms")
	b.ReportMetric(milliseconds(rounds[len(rounds)-1]), "worst-ms")
}

// processor is the processor time that all have used.
func processor(b *testing.B, procs []*itest.Proc) (total time.Duration) {
	b.Helper()
	for _, p := range procs {
		total += p.Processor(b)
	}
	return total
}

// memory is how much (RSS) each has.
func memory(b *testing.B, procs []*itest.Proc) string {
	b.Helper()
	each := make([]string, len(procs))
	for i, p := range procs {
		each[i] = fmt.Sprintf("%d MB", p.Resident(b)>>20)
	}
	return strings.Join(each, ", ")
}

// cluster starts n nodes that are broker and controller.
func (s system) cluster(b *testing.B, n int) (addrs []string, procs []*itest.Proc) {
	b.Helper()
	first, voters := itest.FreePorts(b, 2*n), make([]string, n)
	for i := range n {
		addrs = append(addrs, fmt.Sprintf("127.0.0.1:%d", first+2*i))
		voters[i] = fmt.Sprintf("%d@127.0.0.1:%d", i+1, first+2*i+1)
	}
	for i, addr := range addrs {
		properties := itest.WriteFile(b, "server.properties", fmt.Sprintf(`process.roles=broker,controller
node.id=%d
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://%s,CONTROLLER://127.0.0.1:%d
controller.quorum.voters=%s
log.dirs=%s
min.insync.replicas=%d
`, i+1, addr, first+2*i+1, strings.Join(voters, ","), nodeFolder(b), min(n, 2)))
		s.format(b, properties)
		procs = append(procs, s.start(b, properties))
	}
	awaitBrokers(b, addrs)
	return addrs, procs
}

// nodeFolder is where the data of a node goes.
func nodeFolder(b *testing.B) string {
	b.Helper()
	if !*keepFolders {
		return filepath.Join(b.TempDir(), "data")
	}
	kept, err := os.MkdirTemp("", "many-topics-")
	if err != nil {
		b.Fatal(err)
	}
	return filepath.Join(kept, "data")
}

func awaitBrokers(b *testing.B, addrs []string) {
	b.Helper()
	c := client(b, addrs)
	defer c.Close()
	itest.Eventually(b, func() error {
		ctx, cancel := context.WithTimeout(b.Context(), itest.Stuck)
		defer cancel()
		brokers, err := kadm.NewClient(c).ListBrokers(ctx)
		if err == nil && len(brokers) < len(addrs) {
			err = fmt.Errorf("%d of %d brokers are there", len(brokers), len(addrs))
		}
		return err
	})
}

func client(b *testing.B, addrs []string, more ...kgo.Opt) *kgo.Client {
	b.Helper()
	c, err := kgo.NewClient(append(more, kgo.SeedBrokers(addrs...))...)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// spread is how long after the request to create the topics they were created, and a
// record was acknowledged on the first partition, on half of them, and on all.
type spread struct{ created, first, half, all time.Duration }

func (s spread) String() string {
	ms := time.Millisecond
	return fmt.Sprintf("created after %v; a record acknowledged on the first partition after %v, on half after %v, on all after %v",
		s.created.Round(ms), s.first.Round(ms), s.half.Round(ms), s.all.Round(ms))
}

func everywhere(b *testing.B, addrs []string, replicas int) spread {
	b.Helper()
	c := client(b, addrs, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.MaxBufferedRecords(*manyTopics**perTopic))
	defer c.Close()
	ctx, cancel := context.WithTimeout(b.Context(), produceWithin)
	defer cancel()
	if err := c.Ping(ctx); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	createAll(ctx, b, c, replicas)
	s := spread{created: time.Since(began)}
	acked := produceEverywhere(ctx, b, c, began)
	slices.Sort(acked)
	s.first, s.half, s.all = acked[0], acked[len(acked)/2], acked[len(acked)-1]
	return s
}

func manyTopic(i int) string { return fmt.Sprintf("many-%d", i) }

// createAll creates all topics with one request.
func createAll(ctx context.Context, b *testing.B, c *kgo.Client, replicas int) {
	b.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = createMillis
	for i := range *manyTopics {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = manyTopic(i), int32(*perTopic), int16(replicas)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, c)
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range resp.Topics {
		if code := kerr.Code(t.ErrorCode); code != kerr.None {
			b.Fatalf("create %s: %v", t.Topic, code)
		}
	}
}

// produceEverywhere gives when each partition has acknowledged its record.
func produceEverywhere(ctx context.Context, b *testing.B, c *kgo.Client, began time.Time) []time.Duration {
	b.Helper()
	var mu sync.Mutex
	var acked []time.Duration
	var failed error
	var waiting sync.WaitGroup
	for i := range *manyTopics {
		for p := range *perTopic {
			waiting.Add(1)
			r := &kgo.Record{Topic: manyTopic(i), Partition: int32(p), Value: []byte("the first record of its partition")}
			c.Produce(ctx, r, func(_ *kgo.Record, err error) {
				mu.Lock()
				defer mu.Unlock()
				acked = append(acked, time.Since(began))
				if failed == nil {
					failed = err
				}
				waiting.Done()
			})
		}
	}
	waiting.Wait()
	if failed != nil {
		b.Fatal(failed)
	}
	return acked
}
