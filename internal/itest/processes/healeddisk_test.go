package processes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// everyISR tells whether all replicas of all partitions of a topic are in sync and led.
func everyISR(t *testing.T, cl *kgo.Client, topic string) error {
	t.Helper()
	for _, p := range described(t, cl, topic).Partitions.Sorted() {
		if p.Leader < 0 || len(p.ISR) < len(p.Replicas) || len(p.OfflineReplicas) > 0 {
			return fmt.Errorf("%s-%d: leader %d, ISR %v of %v, offline %v", topic, p.Partition, p.Leader, p.ISR, p.Replicas, p.OfflineReplicas)
		}
	}
	return nil
}

// ledger writes numbered records to a topic with acks=all until it is stopped, and
// knows which were acknowledged.
type ledger struct {
	mu    sync.Mutex
	acked []string
	end   chan struct{}
	done  sync.WaitGroup
}

func startLedger(t *testing.T, addrs, topic string) *ledger {
	t.Helper()
	l := &ledger{end: make(chan struct{})}
	cl := client(t, addrs, kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	l.done.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-l.end:
				return
			default:
			}
			value := fmt.Sprintf("r %08d", n)
			if err := cl.ProduceSync(patience(t), kgo.StringRecord(value)).FirstErr(); err != nil {
				t.Errorf("record %d: %v", n, err)
				return
			}
			l.mu.Lock()
			l.acked = append(l.acked, value)
			l.mu.Unlock()
		}
	})
	return l
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// grows waits until records are acknowledged that were not when it was called.
func (l *ledger) grows(t *testing.T) {
	t.Helper()
	before := l.count()
	itest.Eventually(t, func() error {
		if l.count() < before+10 {
			return errors.New("no record is acknowledged")
		}
		return nil
	})
}

// wants stops and tells what was acknowledged and cannot be read.
func (l *ledger) wants(t *testing.T, addrs, topic string) {
	t.Helper()
	close(l.end)
	l.done.Wait()
	have := map[string]bool{}
	for _, values := range readAll(t, addrs, topic) {
		for _, v := range values {
			have[v] = true
		}
	}
	for _, v := range l.acked {
		if !have[v] {
			t.Errorf("%s was acknowledged and is gone", v)
		}
	}
}

// The disk of one of a broker's directories gets full while records are written with
// acks=all: the other brokers take over. When there is room again the broker takes the
// directory back by itself, and all replicas are in sync again. Nothing that was
// acknowledged is lost, and no process was restarted.
func TestAHealedDiskComesBackWithoutARestart(t *testing.T) {
	t.Parallel()
	disk := itest.NewDisk(t, 16)
	d1 := filepath.Join(itest.Folder(t), "d1")
	c := itest.StartClusterOf(t, 3, func(id int) string {
		more := quick + "ottla.disks.probe.interval.ms=200\n"
		if id == 1 {
			more += "log.dirs=" + d1 + "," + filepath.Join(disk.Dir, "d2")
		}
		return more
	}, nil)
	createReplicated(t, c.Addrs(), "t", 6)
	cl := client(t, c.Addrs())
	l := startLedger(t, c.Addrs(), "t")
	for range 2 {
		l.grows(t)
		hog := disk.Fill(t)
		itest.Eventually(t, func() error {
			offline := 0
			for _, p := range described(t, cl, "t").Partitions.Sorted() {
				offline += len(p.OfflineReplicas)
			}
			if offline == 0 {
				return errors.New("no replica is offline")
			}
			return nil
		})
		l.grows(t)
		if err := os.Remove(hog); err != nil {
			t.Fatal(err)
		}
		itest.Eventually(t, func() error { return everyISR(t, cl, "t") })
		l.grows(t)
	}
	if _, err := kadm.NewClient(cl).ElectLeaders(patience(t), kadm.ElectPreferredReplica, nil); err != nil {
		t.Fatal(err)
	}
	l.grows(t)
	l.wants(t, c.Addrs(), "t")
	if out := c.Nodes[0].Output(); strings.Count(out, "log directory is back") < 2 {
		t.Error("node 1 does not say that its directory is back")
	}
}
