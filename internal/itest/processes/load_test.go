package processes

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the rounds of faults; 0 takes one from the clock")

// seeded is where the rounds of a test take their chances from. A failing test
// prints how to have the same rounds again.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("the same rounds: go test -run '^%s$' ./internal/itest/processes -seed %d", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// load is a producer that writes numbered records to a topic until it is told
// to stop, and remembers which were acknowledged.
type load struct {
	prefix string
	cl     *kgo.Client
	quit   chan struct{}
	done   chan struct{}

	mu    sync.Mutex
	acked []*kgo.Record
	total atomic.Int64
}

func startLoad(t *testing.T, addr, topic, prefix string, opts ...kgo.Opt) *load {
	t.Helper()
	opts = append(opts, kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordRetries(1<<30), kgo.UnknownTopicRetries(-1), kgo.ProducerLinger(0), kgo.MaxBufferedRecords(500))
	l := &load{prefix: prefix, quit: make(chan struct{}), done: make(chan struct{}), cl: client(t, addr, opts...)}
	go l.run()
	return l
}

// A load writes burst records every burstEvery: enough to have many under way
// when a node dies, and little enough to leave the machine to the nodes.
const (
	burst      = 100
	burstEvery = 20 * time.Millisecond
)

func (l *load) run() {
	defer close(l.done)
	tick := time.NewTicker(burstEvery)
	defer tick.Stop()
	for i := 0; ; i++ {
		if i%burst == 0 {
			select {
			case <-l.quit:
				return
			case <-tick.C:
			}
		}
		// Produce blocks while 500 records are under way.
		l.cl.Produce(context.Background(), kgo.StringRecord(fmt.Sprintf("%s %08d", l.prefix, i)), func(r *kgo.Record, err error) {
			if err == nil {
				l.mu.Lock()
				l.acked = append(l.acked, r)
				l.mu.Unlock()
				l.total.Add(1)
			}
		})
	}
}

// stop ends the load, waits for what is under way and gives what was
// acknowledged.
func (l *load) stop(t *testing.T) []string {
	t.Helper()
	close(l.quit)
	<-l.done
	if err := l.cl.Flush(patience(t)); err != nil {
		t.Errorf("%s: %v", l.prefix, err)
	}
	l.cl.Close()
	var acked []string
	for _, r := range l.ackedSoFar() {
		acked = append(acked, string(r.Value))
	}
	return acked
}

// ackedSoFar are the records whose acknowledgement the load has handled, those
// of a partition in the order of their offsets unless it lost some.
func (l *load) ackedSoFar() []*kgo.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.acked)
}

// progress waits until n more records are acknowledged.
func (l *load) progress(t *testing.T, n int64) {
	t.Helper()
	from := l.total.Load()
	itest.Eventually(t, func() error {
		if got := l.total.Load() - from; got < n {
			return fmt.Errorf("%s: %d of %d records acknowledged", l.prefix, got, n)
		}
		return nil
	})
}

// exactlyOnce checks that every acknowledged record is there, none twice, and
// that each partition holds the records of a producer in order.
func exactlyOnce(t *testing.T, read map[int32][]string, acked []string) {
	t.Helper()
	seen := map[string]int{}
	for partition, values := range read {
		last := map[string]string{}
		for _, v := range values {
			seen[v]++
			prefix := v[:len(v)-9]
			if v < last[prefix] {
				t.Errorf("partition %d: %q after %q", partition, v, last[prefix])
			}
			last[prefix] = v
		}
	}
	lost, doubled := 0, 0
	for _, v := range acked {
		if seen[v] == 0 {
			lost++
		}
	}
	for _, n := range seen {
		if n > 1 {
			doubled++
		}
	}
	if lost > 0 || doubled > 0 {
		t.Errorf("of %d acknowledged records %d are lost; %d records are doubled", len(acked), lost, doubled)
	}
	t.Logf("%d acknowledged, %d read", len(acked), len(seen))
}

// stopQuietly ends a load whose last records may have lost their sequence.
func (l *load) stopQuietly() {
	close(l.quit)
	l.cl.Close()
	<-l.done
}
