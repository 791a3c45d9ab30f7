package disks

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/itest"
)

// replicas is how many the broker has that gets more directories.
const replicas = 1000

// snapshotsOften has a node make a snapshot of its image after a few records.
const snapshotsOften = "metadata.log.max.record.bytes.between.snapshots=4000\n"

// KIP-858, S5 to S8: a broker whose replicas are older than directory ids gets two
// directories more, and one replica was moved by hand. Without a record all nodes have
// the others in the directory that the broker had.
func TestKIP858_S5toS8_OneDirectoryBecomesSeveral(t *testing.T) {
	t.Parallel()
	c := start(t, "3.6-IV2", 2, snapshotsOften)
	b, other := c.brokers[0], c.brokers[1]
	for i := range replicas / 100 {
		other.create(t, fmt.Sprintf("t%d", i), 100, b.id)
	}
	other.raise(t, image.MetadataVersion, int16(image.LatestLevel))
	active, standbys, _ := c.quorum(t)
	before := c.allRegistered(t, active, b)
	if err := placed(before, b.id, kafka.DirMigrating, nil); err != nil {
		t.Fatalf("before: %v", err)
	}

	if code := b.Stop(t); code != 0 {
		t.Errorf("the broker ended with status %d", code)
	}
	h, err := active.history()
	if err != nil {
		t.Fatal(err)
	}
	stopped := h.end()
	b.addDirs(t, 2)
	const moved = "t3-42"
	b.moveByHand(t, moved, 1)
	p, q := b.dir(t, 0), b.dir(t, 1)
	b.again(t)
	b.Says(t, "Kafka Server started")

	var unfenced kafka.Offset
	for _, n := range []*node{active, standbys[0], other, b} {
		s := startOf(t, n, b.id, stopped)
		if err := s.check(p, map[string]kafka.DirID{moved: q}); err != nil {
			t.Errorf("the log of node %d: %v", n.id, err)
		}
		// That it would be seen: without the registration the same checks fail.
		if err := placed(s.before, b.id, p, nil); err == nil {
			t.Errorf("the log of node %d has the replicas in place before the registration", n.id)
		}
		unfenced = s.unfenced
	}

	other.create(t, "later", 100, other.id) // a reason for snapshots
	for _, n := range []*node{active, standbys[0], other} {
		namesExactly(t, n.snapshot(t, unfenced+1), b.id, map[kafka.DirID]int{p: replicas - 1, q: 1})
	}
	file := active.snapshot(t, unfenced+1)
	theirs := itest.MustKafkaTool(t, "", "kafka-dump-log", "--cluster-metadata-decoder", "--skip-record-metadata", "--files", file)
	if got, want := dumped(t, theirs, b.id), map[string]int{p.String(): replicas - 1, q.String(): 1}; !maps.Equal(got, want) {
		t.Errorf("Kafka's dump-log reads in %s replicas by directory %v, want %v", file, got, want)
	}
}

// allRegistered waits until the log has all controllers' registrations, and that of
// a broker with its directory, and gives the image then.
func (c *cluster) allRegistered(t *testing.T, active, broker *node) (img *image.Image) {
	t.Helper()
	itest.Eventually(t, func() error {
		h, err := active.history()
		if err != nil {
			return err
		}
		if img, err = h.image(h.end()); err != nil {
			t.Fatal(err)
		}
		if got := img.Controllers().Len(); got != len(c.controllers) || !img.DirsByRule() {
			return fmt.Errorf("%d controllers are registered", got)
		}
		if b, ok := img.Broker(broker.id); !ok || len(b.Dirs) != 1 {
			return errors.New("the broker has not named its directory")
		}
		return nil
	})
	return img
}

// startup is what one node's log says of a broker's start.
type startup struct {
	broker kafka.NodeID
	log    history
	// from is where the log ended when the broker had stopped. The placements of a
	// controller that writes them down lie before the registration, in its batch.
	from, registered, unfenced kafka.Offset
	before                     *image.Image // at from
}

// startOf waits until a node's log has the end of a start after an offset.
func startOf(t *testing.T, n *node, broker kafka.NodeID, from kafka.Offset) (s startup) {
	t.Helper()
	itest.Eventually(t, func() (err error) {
		s = startup{broker: broker, from: from}
		if s.log, err = n.history(); err != nil {
			return err
		}
		s.registered, s.unfenced, err = s.log.unfenced(broker, from)
		return err
	})
	var err error
	if s.before, err = s.log.image(from); err != nil {
		t.Fatal(err)
	}
	return s
}

// check holds a start against S5 to S7: the registration alone has all replicas in the
// old directory, and nothing but what was moved has a record of its own until the
// broker is unfenced, which is when that one is known.
func (s startup) check(old kafka.DirID, moved map[string]kafka.DirID) error {
	if err := placed(s.before, s.broker, kafka.DirMigrating, nil); err != nil {
		return fmt.Errorf("when it had stopped: %w", err)
	}
	after, err := s.log.image(s.registered + 1)
	if err != nil {
		return err
	}
	last, err := s.log.image(s.unfenced)
	if err != nil {
		return err
	}
	if err := placed(after, s.broker, old, nil); err != nil {
		return fmt.Errorf("with the registration: %w", err)
	}
	if err := placed(last, s.broker, old, moved); err != nil {
		return fmt.Errorf("when it is unfenced: %w", err)
	}
	changes, at := s.log.changes(s.from, s.unfenced)
	for i, r := range changes {
		name := r.TopicId.String()
		if topic, ok := last.TopicByID(r.TopicId); ok {
			name = fmt.Sprintf("%s-%d", topic.Name, r.PartitionId)
		}
		if _, ok := moved[name]; !ok {
			return fmt.Errorf("a record changes %s at offset %d; the broker registered at %d and was unfenced at %d", name, at[i], s.registered, s.unfenced)
		}
	}
	if len(changes) != len(moved) {
		return fmt.Errorf("%d records change partitions", len(changes))
	}
	return sameEpochs(s.before, last, s.broker, moved)
}

// namesExactly checks with our dump-log that a snapshot, which a node made of the
// image it had in memory, names the directories of a broker's replicas (S8).
func namesExactly(t *testing.T, file string, broker kafka.NodeID, want map[kafka.DirID]int) {
	t.Helper()
	text := map[string]int{}
	for dir, n := range want {
		text[dir.String()] = n
	}
	out := itest.Ottla(t, "", "dump-log", "--cluster-metadata-decoder", "--skip-record-metadata", file)
	if got := dumped(t, out, broker); !maps.Equal(got, text) {
		t.Errorf("dump-log reads in %s replicas by directory %v, want %v", file, got, text)
	}
}
