package peer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// Ledger is a load on a topic by idempotent producers with acks=all, and what was
// acknowledged to them.
type Ledger struct {
	c          *Cluster
	topic      string
	partitions int
	replicas   int
	close      func()

	mu     sync.Mutex
	acked  map[entry]bool
	errors map[string]int
}

// entry is one record's value: which producer, and which number of its own.
type entry struct{ producer, number int }

// Each of so many producers sends so many records a second.
const (
	producers = 3
	perSecond = 100
)

// Load begins a load on a topic that is there.
func (c *Cluster) Load(topic string, opts ...kgo.Opt) *Ledger {
	c.t.Helper()
	partitions, err := c.anyBroker().Partitions(topic)
	if err != nil {
		c.t.Fatal(err)
	}
	g := &Ledger{c: c, topic: topic, partitions: len(partitions), replicas: len(partitions[0].Replicas), acked: map[entry]bool{}, errors: map[string]int{}}
	flushing, giveUp := context.WithCancel(context.Background())
	sending, stop := context.WithCancel(flushing)
	var work sync.WaitGroup
	for p := range producers {
		cl := c.Client(append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(1_000_000))...)
		work.Go(func() { g.produce(sending, flushing, cl, p) })
	}
	g.close = sync.OnceFunc(func() { stop(); work.Wait() })
	c.t.Cleanup(func() { giveUp(); work.Wait() }) // the brokers may be gone
	return g
}

func (c *Cluster) anyBroker() *Node {
	c.t.Helper()
	up := c.pick(func(n *Node) bool { return n.Roles.Serves() && n.reachable() })
	if len(up) == 0 {
		c.t.Fatal("no broker runs")
	}
	return up[0]
}

func (g *Ledger) produce(sending, flushing context.Context, cl *kgo.Client, producer int) {
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-sending.Done():
			end, cancel := context.WithTimeout(flushing, itest.Stuck)
			defer cancel()
			if err := cl.Flush(end); err != nil {
				g.note(entry{}, fmt.Errorf("flush: %w", err))
			}
			return
		case <-tick.C:
		}
		e := entry{producer, i}
		r := &kgo.Record{Topic: g.topic, Partition: int32(i % g.partitions), Value: fmt.Appendf(nil, "%d %d", e.producer, e.number)}
		cl.Produce(context.Background(), r, func(_ *kgo.Record, err error) { g.note(e, err) })
	}
}

func (g *Ledger) note(e entry, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.errors[err.Error()]++
		return
	}
	g.acked[e] = true
}

// Acked is how many records have been acknowledged.
func (g *Ledger) Acked() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.acked)
}

// Moves waits until records are acknowledged that were not when it was called.
func (g *Ledger) Moves() {
	g.c.t.Helper()
	before := g.Acked()
	itest.Eventually(g.c.t, func() error {
		if g.Acked() < before+producers*perSecond/10 {
			return fmt.Errorf("%d records are acknowledged, %d before", g.Acked(), before)
		}
		return nil
	})
}

// Verify ends the load and reads the topic: each acknowledged record is there once,
// and each producer's are in order in each partition. It gives how many there were.
func (g *Ledger) Verify() int {
	g.c.t.Helper()
	g.close()
	a := audit{seen: map[entry]int{}, last: map[lane]int{}}
	g.readAll(a.read)
	lost, twice := a.compare(g.acked)
	if lost+twice+len(a.wrong) > 0 || len(g.acked) == 0 {
		g.c.t.Errorf("%d records acknowledged, %d lost, %d twice, %d out of place: %s", len(g.acked), lost, twice, len(a.wrong),
			strings.Join(a.wrong[:min(3, len(a.wrong))], "; "))
	}
	if len(g.errors) > 0 {
		g.c.t.Logf("records that were not acknowledged: %v", g.errors)
	}
	return len(g.acked)
}

// audit is what a reader of the topic has seen.
type audit struct {
	seen  map[entry]int
	last  map[lane]int
	wrong []string
}

// lane is where the order of one producer's records stands.
type lane struct {
	producer  int
	partition int32
}

func (a *audit) read(partition int32, offset int64, value string) {
	var e entry
	if n, _ := fmt.Sscanf(value, "%d %d", &e.producer, &e.number); n != 2 {
		a.wrong = append(a.wrong, fmt.Sprintf("strange value %q at %d/%d", value, partition, offset))
		return
	}
	a.seen[e]++
	l := lane{e.producer, partition}
	if before, ok := a.last[l]; ok && e.number <= before {
		a.wrong = append(a.wrong, fmt.Sprintf("producer %d, partition %d: %d after %d", e.producer, partition, e.number, before))
		return
	}
	a.last[l] = e.number
}

func (a *audit) compare(acked map[entry]bool) (lost, twice int) {
	for e := range acked {
		switch n := a.seen[e]; {
		case n == 0:
			lost++
		case n > 1:
			twice++
		}
	}
	return lost, twice
}

// readAll reads the topic up to the ends that stand when it is called.
func (g *Ledger) readAll(each func(partition int32, offset int64, value string)) {
	g.c.t.Helper()
	left := map[int32]int64{}
	from := map[int32]kgo.Offset{}
	cl := g.c.Client()
	itest.Eventually(g.c.t, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), itest.Stuck)
		defer cancel()
		ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, g.topic)
		if err != nil {
			return err
		}
		if err := ends.Error(); err != nil {
			return err
		}
		ends.Each(func(o kadm.ListedOffset) {
			from[o.Partition] = kgo.NewOffset().AtStart()
			if o.Offset > 0 {
				left[o.Partition] = o.Offset
			}
		})
		return nil
	})
	reader := g.c.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{g.topic: from}))
	defer reader.Close()
	for len(left) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), itest.Stuck)
		got := reader.PollFetches(ctx)
		cancel()
		if got.NumRecords() == 0 {
			g.c.t.Fatalf("reading %s: %v; not at the end of %v", g.topic, got.Errors(), left)
		}
		got.EachRecord(func(r *kgo.Record) {
			each(r.Partition, r.Offset, string(r.Value))
			if end, ok := left[r.Partition]; ok && r.Offset+1 >= end {
				delete(left, r.Partition)
			}
		})
	}
}
