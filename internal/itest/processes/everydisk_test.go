package processes

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/internal/itest"
)

// disksFlag is how many disks of each broker fail in TestEveryDiskFailsInTurn.
var disksFlag = flag.Int("disks", 1, "how many of the four disks of each broker fail, one after another; 4 are all")

// writers write numbered records with acks=all, each to its partition, until they are
// stopped. They know what was acknowledged, and when last.
type writers struct {
	mu    sync.Mutex
	acked [][]string      // by partition
	last  []time.Time     // when it was last acknowledged one
	gap   []time.Duration // the longest time between two since calm
	end   chan struct{}
	done  sync.WaitGroup
}

func startWriters(t *testing.T, addrs, topic string, partitions int) *writers {
	t.Helper()
	w := &writers{acked: make([][]string, partitions), last: make([]time.Time, partitions), gap: make([]time.Duration, partitions), end: make(chan struct{})}
	cl := client(t, addrs, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(50*time.Millisecond))
	for p := range partitions {
		w.last[p] = time.Now()
		w.done.Go(func() { w.write(t, cl, topic, p) })
	}
	return w
}

func (w *writers) write(t *testing.T, cl *kgo.Client, topic string, p int) {
	for n := 0; ; n++ {
		select {
		case <-w.end:
			return
		case <-time.After(10 * time.Millisecond): // a disk of a few MiB is to last
		}
		value := fmt.Sprintf("r %02d %08d", p, n)
		r := &kgo.Record{Topic: topic, Partition: int32(p), Value: []byte(value)}
		if err := cl.ProduceSync(patience(t), r).FirstErr(); err != nil {
			t.Errorf("partition %d, record %d: %v", p, n, err)
			return
		}
		w.mu.Lock()
		now := time.Now()
		w.acked[p], w.gap[p], w.last[p] = append(w.acked[p], value), max(w.gap[p], now.Sub(w.last[p])), now
		w.mu.Unlock()
	}
}

// calm forgets the gaps so far.
func (w *writers) calm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.gap)
}

// gaps are the longest times without an acknowledged record since calm, as text and of
// all partitions.
func (w *writers) gaps() (text string, longest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, g := range w.gap {
		text += fmt.Sprintf(" %d:%v", p, g.Round(time.Millisecond))
	}
	return text, slices.Max(w.gap)
}

// grow waits until every partition has acknowledged records that it had not.
func (w *writers) grow(t *testing.T) {
	t.Helper()
	counts := func() (all []int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, a := range w.acked {
			all = append(all, len(a))
		}
		return all
	}
	before := counts()
	itest.Eventually(t, func() error {
		for p, n := range counts() {
			if n < before[p]+3 {
				return fmt.Errorf("partition %d acknowledges nothing", p)
			}
		}
		return nil
	})
}

// stop ends them and gives what was acknowledged.
func (w *writers) stop() [][]string {
	close(w.end)
	w.done.Wait()
	return w.acked
}

// Three brokers with four disks each, every partition on all three, under load with
// acks=all. Disks fail in turn: one gets full and is freed, the next has its file system
// shut down (EROFS) and is replaced by a new one. All partitions go on, all replicas are
// in sync again afterwards, nothing acknowledged is lost, and no process is restarted.
func TestEveryDiskFailsInTurn(t *testing.T) {
	t.Parallel()
	const perNode, partitions = 4, 12
	disks := map[int][]*itest.Disk{}
	c := itest.StartClusterOf(t, 3, func(id int) string {
		var dirs []string
		for range perNode {
			d := itest.NewDisk(t, 32)
			disks[id], dirs = append(disks[id], d), append(dirs, d.Dir)
		}
		return quick + "ottla.disks.probe.interval.ms=200\nmetadata.log.dir=" + filepath.Join(itest.Folder(t), "metadata") +
			"\nlog.dirs=" + strings.Join(dirs, ",") + "\n"
	}, nil)
	createReplicated(t, c.Addrs(), "t", partitions)
	cl := client(t, c.Addrs())
	w := startWriters(t, c.Addrs(), "t", partitions)
	turn, longest := 0, time.Duration(0)
	for i := range *disksFlag {
		for _, n := range c.Nodes {
			d := disks[n.ID][i]
			w.grow(t)
			if len(folders(t, d.Dir)) == 0 {
				t.Errorf("nothing lies on disk %d of node %d", i, n.ID)
			}
			w.calm()
			cause, back := "gets full and is freed", fullDisk
			if turn%2 == 1 {
				cause, back = "is shut down and replaced", shutDisk
			}
			turn++
			mend := back(t, n, d)
			itest.Eventually(t, func() error {
				if everyISR(t, cl, "t") == nil {
					return errors.New("nobody has heard of the failure")
				}
				return nil
			})
			w.grow(t)
			mend()
			itest.Eventually(t, func() error { return everyISR(t, cl, "t") })
			w.grow(t)
			text, gap := w.gaps()
			longest = max(longest, gap)
			t.Logf("disk %d of node %d %s; longest without an acknowledged record, by partition:%s", i, n.ID, cause, text)
		}
	}
	acked, lost, all := w.stop(), 0, 0
	for p, got := range readAll(t, c.Addrs(), "t") {
		have := map[string]bool{}
		for _, v := range got {
			have[v] = true
		}
		for _, v := range acked[p] {
			if all++; !have[v] {
				lost++
			}
		}
	}
	if lost > 0 || all == 0 {
		t.Errorf("%d of %d acknowledged records are lost", lost, all)
	}
	for _, n := range c.Nodes {
		if !n.Running() {
			t.Errorf("node %d ended", n.ID)
		}
	}
	t.Logf("ledger: three brokers with four disks each, load on %d partitions, %d disks fail in turn and are freed or replaced | %d of %d acknowledged records lost, no restart; the longest time of a partition without one %v",
		partitions, turn, lost, all, longest.Round(time.Millisecond))
}

// offline waits until the node has taken a directory offline once more than so often.
func offline(t *testing.T, n *itest.Node, before int) {
	t.Helper()
	itest.Eventually(t, func() error {
		if strings.Count(n.Output(), "log directory is offline") <= before {
			return errors.New("the directory is not offline")
		}
		return nil
	})
}

// fullDisk fills a disk and gives what frees it.
func fullDisk(t *testing.T, n *itest.Node, d *itest.Disk) func() {
	t.Helper()
	before := strings.Count(n.Output(), "log directory is offline")
	hog := d.Fill(t)
	offline(t, n, before)
	return func() {
		t.Helper()
		if err := os.Remove(hog); err != nil {
			t.Fatal(err)
		}
	}
}

// shutDisk shuts a disk's file system down and gives what puts a new one in its place.
func shutDisk(t *testing.T, n *itest.Node, d *itest.Disk) func() {
	t.Helper()
	before := strings.Count(n.Output(), "log directory is offline")
	if out, err := itest.Run("", exec.Command("mount", "-o", "remount,abort", d.Dir)); err != nil {
		t.Fatalf("shut down %s: %v\n%s", d.Dir, err, out)
	}
	offline(t, n, before)
	return func() {
		t.Helper()
		d.Unmount(t)
		d.Mount(t)
		if out, err := itest.Run("", exec.Command(itest.Bin(t), "disks", "replace", d.Dir, "--config", n.File())); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}
