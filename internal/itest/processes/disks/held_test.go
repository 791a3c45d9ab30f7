package disks

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/itest"
)

// patientQuorum has nobody give anybody up while some controllers stand still.
const patientQuorum = `controller.quorum.fetch.timeout.ms=60000
broker.session.timeout.ms=60000
broker.heartbeat.interval.ms=200
`

// KIP-858, S2, S3 and S9: a broker comes back whose replicas are at no known place, and
// one is elsewhere than the controller has it. It tells of them, and while that is not
// committed it is not unfenced, however often it asks.
func TestKIP858_S2S3S9_FencedUntilAssignmentsAreCommitted(t *testing.T) {
	t.Parallel()
	c := start(t, "4.4-IV2", 2, patientQuorum)
	b, other := c.brokers[0], c.brokers[1]
	const unplaced, misplaced = 20, 1
	other.create(t, "old", 3, b.id)
	active, standbys, _ := c.quorum(t)
	b.Stop(t)
	b.addDirs(t, 2)
	startUnfenced(t, b, active)
	b.Stop(t)
	b.moveByHand(t, "old-1", 2)
	other.create(t, "new", unplaced, b.id, other.id)

	stopped := startHeld(t, b, active, standbys)
	// The active controller has the assignments in its log, and nobody else has.
	first := awaitAssignments(t, active, stopped, unplaced+misplaced)
	for _, n := range standbys {
		h, err := n.history()
		if err != nil || h.end() > first {
			t.Errorf("the log of node %d, which stands still, ends at %d behind the first assignment at %d (%v)", n.id, h.end(), first, err)
		}
	}
	for range 10 { // several heartbeats
		time.Sleep(150 * time.Millisecond)
		if err := held(t, b, active, stopped, unplaced+misplaced); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := active.quorum(t); err != nil || kafka.Offset(p.HighWatermark) > first {
		t.Fatalf("committed is up to %d, the first assignment is at %d (%v)", p.HighWatermark, first, err)
	}

	for _, n := range standbys {
		n.Continue()
	}
	b.Says(t, "Kafka Server started")
	for _, n := range []*node{active, standbys[0], standbys[1]} {
		s := startOf(t, n, b.id, stopped)
		if err := unfencedBehind(s, map[string]kafka.DirID{"old-1": b.dir(t, 2)}); err != nil {
			t.Errorf("the log of node %d: %v", n.id, err)
		}
		if got := s.before.Hosted(b.id).Unplaced; got != unplaced {
			t.Errorf("%d replicas were at no known place before, want %d", got, unplaced)
		}
	}
	if n, err := b.queued(t); n != 0 || err != nil {
		t.Errorf("%d assignments are queued when the broker is unfenced (%v)", n, err)
	}
}

// startUnfenced starts a broker and waits until it is unfenced with all its directories.
func startUnfenced(t *testing.T, b, active *node) {
	t.Helper()
	b.again(t)
	b.Says(t, "Kafka Server started")
	itest.Eventually(t, func() error {
		h, err := active.history()
		if err != nil {
			return err
		}
		img, err := h.image(h.end())
		if err != nil {
			return err
		}
		if r, ok := img.Broker(b.id); !ok || len(r.Dirs) != len(b.dirs) || r.Fenced {
			return errors.New("the broker is not unfenced with all directories")
		}
		return nil
	})
}

// startHeld starts a broker whose registration is committed, while nothing that comes
// behind it can be: two of three controllers stand still. It gives where the log of the
// active one ended before.
//  1. They stand still, and the broker registers. It waits for the commit.
//  2. The broker stands still, they go on, the registration is committed. If the broker
//     asked to be unfenced now, the active controller would refuse (S2).
//  3. They stand still again, and the broker goes on.
func startHeld(t *testing.T, b, active *node, standbys []*node) (stopped kafka.Offset) {
	t.Helper()
	itest.Eventually(t, func() error { // all that there is by now is committed
		h, err := active.history()
		if err != nil {
			return err
		}
		p, err := active.quorum(t)
		if stopped = h.end(); err == nil && kafka.Offset(p.HighWatermark) < stopped {
			err = fmt.Errorf("committed up to %d of %d", p.HighWatermark, stopped)
		}
		return err
	})
	still(t, standbys...)
	b.again(t)
	var registered kafka.Offset
	itest.Eventually(t, func() error {
		h, err := active.history()
		if err != nil {
			return err
		}
		if registered, _, err = h.unfenced(b.id, stopped); err == errFenced {
			return nil
		}
		return err
	})
	still(t, b)
	for _, n := range standbys {
		n.Continue()
	}
	itest.Eventually(t, func() error {
		p, err := active.quorum(t)
		if err == nil && kafka.Offset(p.HighWatermark) <= registered {
			err = fmt.Errorf("the registration at %d is not committed", registered)
		}
		return err
	})
	if reply := active.heartbeat(t, b.id, registered); reply.ErrorCode != 0 || !reply.IsFenced || !reply.IsCaughtUp {
		t.Errorf("the broker asks to be unfenced with replicas at no known place, and is told %+v", reply)
	}
	still(t, standbys...)
	b.Continue()
	return stopped
}

// heartbeat asks a controller to unfence a broker, in the broker's name. Its epoch is the
// offset of its registration.
func (n *node) heartbeat(t *testing.T, broker kafka.NodeID, epoch kafka.Offset) *kmsg.BrokerHeartbeatResponse {
	t.Helper()
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.BrokerID, req.BrokerEpoch, req.CurrentMetadataOffset = int32(broker), int64(epoch), int64(epoch)
	got, err := n.client(t).SeedBrokers()[0].Request(patience(t), req)
	if err != nil {
		t.Fatal(err)
	}
	return got.(*kmsg.BrokerHeartbeatResponse)
}

// still stops processes without closing their sockets, and waits until they stand: the
// signal takes its time on a busy machine.
func still(t *testing.T, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		n.Pause()
	}
	for _, n := range nodes {
		itest.Eventually(t, func() error { return n.stands() })
	}
}

// stands checks that each thread of the process is stopped.
func (n *node) stands() error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", n.Pid()))
	if err != nil || len(threads) == 0 {
		return fmt.Errorf("node %d has no threads (%v)", n.id, err)
	}
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, rest, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(rest, "T") {
			return fmt.Errorf("node %d goes on: %s", n.id, stat)
		}
	}
	return nil
}

// assignments counts the records from an offset on that give replicas a directory, and
// finds the first and the last.
func (h history) assignments(from kafka.Offset) (count int, first, last kafka.Offset) {
	first = h.end()
	for _, e := range h {
		if r, ok := e.record.(*metarec.PartitionChangeRecord); ok && e.offset >= from && r.Directories != nil {
			count, first, last = count+1, min(first, e.offset), e.offset
		}
	}
	return count, first, last
}

// awaitAssignments waits until a controller's log has so many, and gives the offset of
// the first.
func awaitAssignments(t *testing.T, n *node, from kafka.Offset, want int) (first kafka.Offset) {
	t.Helper()
	itest.Eventually(t, func() error {
		h, err := n.history()
		if err != nil {
			return err
		}
		count := 0
		if count, first, _ = h.assignments(from); count < want {
			return fmt.Errorf("%d of %d assignments are in the log", count, want)
		}
		return nil
	})
	return first
}

// held checks that a broker waits for its assignments and is fenced: no record that
// unfences it is even written.
func held(t *testing.T, b, active *node, from kafka.Offset, queued int) error {
	t.Helper()
	if n, err := b.queued(t); n != queued || err != nil {
		return fmt.Errorf("%d assignments are queued, not %d (%v)", n, queued, err)
	}
	h, err := active.history()
	if err != nil {
		return err
	}
	if _, at, err := h.unfenced(b.id, from); err != errFenced {
		return fmt.Errorf("a record unfences the broker at offset %d, while its assignments are not committed (%v)", at, err)
	}
	if strings.Contains(b.Output(), "Kafka Server started") {
		return errors.New("the broker serves")
	}
	return nil
}

// unfencedBehind checks that a broker was unfenced behind the last record that tells
// where its replicas are, and that some are where their folders were moved to.
func unfencedBehind(s startup, moved map[string]kafka.DirID) error {
	_, _, last := s.log.assignments(s.from)
	if s.unfenced <= last {
		return fmt.Errorf("unfenced at %d, the last assignment is at %d", s.unfenced, last)
	}
	img, err := s.log.image(s.unfenced)
	if err != nil {
		return err
	}
	if n := img.Hosted(s.broker).Unplaced; n != 0 {
		return fmt.Errorf("%d replicas are nowhere", n)
	}
	for place, p := range img.Partitions() {
		if want, ok := moved[folder(place)]; ok {
			if dir, _ := p.DirOf(s.broker); dir != want {
				return fmt.Errorf("%s is in %v", folder(place), dir)
			}
		}
	}
	return nil
}

// queued is a broker's metric QueuedReplicaToDirAssignments.
func (n *node) queued(t *testing.T) (int, error) {
	t.Helper()
	const name = "kafka_server_kafkaserver_queuedreplicatodirassignments "
	resp, err := http.Get("http://" + n.metrics + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(page)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok {
			return strconv.Atoi(value)
		}
	}
	return 0, fmt.Errorf("no %s in the metrics", name)
}
