package processes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// load is a producer that writes numbered records to a topic until it is told
// to stop, and remembers which were acknowledged.
type load struct {
	prefix string
	cl     *kgo.Client
	quit   chan struct{}
	done   chan struct{}

	mu    sync.Mutex
	acked []string
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

func (l *load) run() {
	defer close(l.done)
	for i := 0; ; i++ {
		select {
		case <-l.quit:
			return
		default:
		}
		// Produce blocks while 500 records are under way.
		l.cl.Produce(context.Background(), kgo.StringRecord(fmt.Sprintf("%s %08d", l.prefix, i)), func(r *kgo.Record, err error) {
			if err == nil {
				l.mu.Lock()
				l.acked = append(l.acked, string(r.Value))
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
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked
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

const killRounds = 30

// Nothing that was acknowledged is lost or doubled when the process is killed,
// again and again, under load.
func TestThirtyKillsUnderLoadLoseAndDoubleNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	d := itest.StartDev(t)
	create(t, d.Addr, "t", 3, nil)
	loads := []*load{startLoad(t, d.Addr, "t", "a"), startLoad(t, d.Addr, "t", "b"), startLoad(t, d.Addr, "t", "c")}
	for range killRounds {
		loads[random.IntN(len(loads))].progress(t, 50+random.Int64N(500))
		d.Kill()
		d.Again(t)
	}
	var acked []string
	for _, l := range loads {
		l.progress(t, 100)
		acked = append(acked, l.stop(t)...)
	}
	exactlyOnce(t, readAll(t, d.Addr, "t"), acked)
}

const lossRounds = 10

// When the machine loses what was not synced, metadata loses nothing, a topic
// with flush.messages=1 loses nothing, any other at most its unsynced tail; and
// the node starts without a human.
func TestTenLossesOfUnsyncedBytes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	faults := t.TempDir()
	d := itest.StartDev(t, "--fault-dir", faults)
	create(t, d.Addr, "synced", 2, map[string]string{"flush.messages": "1"})
	create(t, d.Addr, "plain", 2, nil)
	synced, plain := startLoad(t, d.Addr, "synced", "s"), startLoad(t, d.Addr, "plain", "p")
	for round := range lossRounds {
		synced.progress(t, 20+random.Int64N(100))
		topic := fmt.Sprintf("made-%d", round)
		create(t, d.Addr, topic, 1, nil)
		d.Kill()
		itest.Ottla(t, "", "fault", "drop-unsynced", "--fault-dir", faults, "--data", d.Data, "--seed", fmt.Sprint(random.Uint64()))
		d.Again(t)
		if got := readAll(t, d.Addr, topic); len(got) != 0 {
			t.Errorf("round %d: topic %s holds records nobody wrote", round, topic)
		}
	}
	synced.progress(t, 100)
	acked := synced.stop(t)
	exactlyOnce(t, readAll(t, d.Addr, "synced"), acked)
	plain.stopQuietly()
	tailsOnly(t, readAll(t, d.Addr, "plain"))
}

// stopQuietly ends a load whose last records may have lost their sequence.
func (l *load) stopQuietly() {
	close(l.quit)
	l.cl.Close()
	<-l.done
}

// tailsOnly checks that what is left are whole records of the load.
func tailsOnly(t *testing.T, read map[int32][]string) {
	t.Helper()
	for partition, values := range read {
		for _, v := range values {
			var n int
			if _, err := fmt.Sscanf(v, "p %d", &n); err != nil {
				t.Errorf("partition %d holds %q: %v", partition, v, errors.Unwrap(err))
			}
		}
	}
}
