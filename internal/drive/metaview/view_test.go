package metaview

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/image"
)

// ground is a quorum whose high watermark a test moves by hand.
type ground struct {
	mu        sync.Mutex
	high      kafka.Offset
	snapshots []*snapshotLog
	refuse    error
	wanted    bool
	hang      chan struct{} // the first write into a snapshot waits until it is closed
}

func (g *ground) HighWatermark() kafka.Offset { return g.high }

func (g *ground) SnapshotWanted() bool { return g.wanted }

func (g *ground) CreateSnapshot(end kafka.Offset, epoch kafka.Epoch, _ int64) (SnapshotWriter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuse != nil {
		return nil, g.refuse
	}
	s := &snapshotLog{end: end, epoch: epoch, hang: g.hang}
	g.snapshots = append(g.snapshots, s)
	return s, nil
}

// snapshotLog keeps what was written into a snapshot.
type snapshotLog struct {
	end     kafka.Offset
	epoch   kafka.Epoch
	batches [][][]byte
	frozen  bool
	closed  bool
	hang    chan struct{}
}

func (s *snapshotLog) Append(framed [][]byte) error {
	if s.hang != nil {
		<-s.hang
	}
	s.batches = append(s.batches, slices.Clone(framed))
	return nil
}
func (s *snapshotLog) Size() (n int64) {
	for _, b := range s.batches {
		n += size(b)
	}
	return n
}
func (s *snapshotLog) Freeze() error { s.frozen = true; return nil }
func (s *snapshotLog) Close() error  { s.closed = true; return nil }

// seen is what a publisher was told: the number of topics after each image.
type seen struct {
	topics  []int
	created []int
	applied []kafka.Offset
	faults  []error
}

func newTestView(g *ground, s *seen, policy SnapshotPolicy) *View {
	return New(Config{
		Quorum: g, Snapshots: policy, Log: slog.New(slog.DiscardHandler),
		Publishers: []Publisher{{"test", func(d image.Delta, img *image.Image) {
			s.topics = append(s.topics, img.Topics().Len())
			s.created = append(s.created, len(d.Created))
		}}},
		Applied: func(end kafka.Offset) { s.applied = append(s.applied, end) },
		Fault:   func(err error) { s.faults = append(s.faults, err) },
	})
}

func framed(t *testing.T, records ...metarec.Message) [][]byte {
	t.Helper()
	var all [][]byte
	for _, m := range records {
		raw, err := metarec.AppendMetadata(nil, m, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw)
	}
	return all
}

func topic(n byte) *metarec.TopicRecord {
	return &metarec.TopicRecord{Name: string('a' + rune(n)), TopicId: kafka.UUID{n + 1, 15: 200}}
}

func level() *metarec.FeatureLevelRecord {
	return &metarec.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: int16(image.LatestLevel)}
}

func commit(t *testing.T, v *View, base kafka.Offset, records ...metarec.Message) {
	t.Helper()
	raw := framed(t, records...)
	v.Commit(Batch{Base: base, End: base + kafka.Offset(max(len(records), 1)), Epoch: 1, Records: raw, Size: batchHeader + int(size(raw))})
}

// batchHeader is about what a batch takes in the log besides its records.
const batchHeader = 61

func size(framed [][]byte) (n int64) {
	for _, f := range framed {
		n += int64(len(f))
	}
	return n
}

// idle waits until no snapshot is being written.
func idle(t *testing.T, v *View) {
	t.Helper()
	if err := v.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsPublishedBeforeTheViewHasCaughtUp(t *testing.T) {
	g, s := &ground{high: 4}, &seen{}
	v := newTestView(g, s, SnapshotPolicy{Bytes: 1 << 30})
	commit(t, v, 0) // the leader's control record
	commit(t, v, 1, level())
	commit(t, v, 2, topic(0))
	if len(s.topics) != 0 || v.Image().Topics().Len() != 0 {
		t.Fatalf("published %v at offset 3 of 4", s.topics)
	}
	commit(t, v, 3, topic(1))
	if !slices.Equal(s.topics, []int{2}) || !slices.Equal(s.created, []int{2}) {
		t.Errorf("the first image has topics %v, its delta %v", s.topics, s.created)
	}
	commit(t, v, 4, topic(2))
	if !slices.Equal(s.created, []int{2, 1}) || !slices.Equal(s.applied, []kafka.Offset{4, 5}) {
		t.Errorf("then deltas %v, applied %v", s.created, s.applied)
	}
}

func TestAControlRecordMovesTheEnd(t *testing.T) {
	g, s := &ground{high: 1}, &seen{}
	v := newTestView(g, s, SnapshotPolicy{Bytes: 1 << 30})
	commit(t, v, 0)
	commit(t, v, 1, level())
	commit(t, v, 2)
	if got := v.Image().Provenance().Offset; got != 2 || !slices.Equal(s.applied, []kafka.Offset{1, 2, 3}) {
		t.Errorf("image at %d, applied %v", got, s.applied)
	}
}

func TestAnOpenTransactionShowsNothingUntilItEnds(t *testing.T) {
	g, s := &ground{high: 1}, &seen{}
	v := newTestView(g, s, SnapshotPolicy{Bytes: 1 << 30})
	commit(t, v, 0, level())
	commit(t, v, 1, metarec.NewBeginTransactionRecord(), topic(0))
	if v.Image().Topics().Len() != 0 {
		t.Error("a topic of an open transaction shows")
	}
	commit(t, v, 3, topic(1), metarec.NewEndTransactionRecord())
	if v.Image().Topics().Len() != 2 || s.created[len(s.created)-1] != 2 {
		t.Errorf("after the end: %d topics, deltas %v", v.Image().Topics().Len(), s.created)
	}
}

func TestALogThatCannotBeAppliedStopsTheViewForGood(t *testing.T) {
	g, s := &ground{high: 1}, &seen{}
	v := newTestView(g, s, SnapshotPolicy{Bytes: 1 << 30})
	commit(t, v, 0, level())
	v.Commit(Batch{Base: 1, End: 2, Records: [][]byte{{1, 99, 0}}})
	commit(t, v, 2, topic(0))
	if len(s.faults) != 1 || v.Image().Topics().Len() != 0 {
		t.Errorf("faults %v, topics %d: a record was skipped", s.faults, v.Image().Topics().Len())
	}
	if v.figures.LoadErrors.Value() != 1 {
		t.Errorf("%g faults are counted", v.figures.LoadErrors.Value())
	}
}

func TestASnapshotReplacesTheImage(t *testing.T) {
	g, s := &ground{high: 1}, &seen{}
	v := newTestView(g, s, SnapshotPolicy{Bytes: 1 << 30})
	commit(t, v, 0, level())
	commit(t, v, 1, topic(0))
	v.Load(image.Provenance{Offset: 9, Epoch: 2}, func(yield func([][]byte, error) bool) {
		_ = yield(framed(t, level()), nil) && yield(framed(t, topic(1), topic(2)), nil)
	})
	if _, ok := v.Image().TopicNamed("a"); ok || v.Image().Topics().Len() != 2 {
		t.Errorf("the image still has what the snapshot lacks")
	}
	if s.applied[len(s.applied)-1] != 10 {
		t.Errorf("applied %v", s.applied)
	}
	if v.figures.Loads.Value() != 1 {
		t.Errorf("%g loads are counted", v.figures.Loads.Value())
	}
	v.Load(image.Provenance{Offset: 19}, func(yield func([][]byte, error) bool) { yield(nil, errors.New("disk")) })
	if len(s.faults) != 1 {
		t.Errorf("faults %v after a snapshot that cannot be read", s.faults)
	}
}

func TestASnapshotIsWrittenAfterEnoughBytesAndHoldsTheImage(t *testing.T) {
	g, s := &ground{high: 1}, &seen{}
	v := newTestView(g, s, SnapshotPolicy{Bytes: 150})
	commit(t, v, 0, level())
	commit(t, v, 1, topic(0))
	idle(t, v)
	if len(g.snapshots) != 1 {
		t.Fatalf("%d snapshots", len(g.snapshots))
	}
	w := g.snapshots[0]
	if got := v.emitted.bytes.Load(); got == 0 || got != w.Size() {
		t.Errorf("a snapshot of %d bytes is told as one of %d", w.Size(), got)
	}
	if w.end != 2 || w.epoch != 1 || !w.frozen || !w.closed || len(w.batches) != 1 || len(w.batches[0]) != 2 {
		t.Errorf("%+v", w)
	}
}

func TestASnapshotThatIsLostIsWrittenAnew(t *testing.T) {
	g, s := &ground{high: 1}, &seen{}
	v := newTestView(g, s, SnapshotPolicy{Bytes: 1 << 30})
	commit(t, v, 0, level())
	g.wanted = true
	commit(t, v, 1)
	idle(t, v)
	if len(g.snapshots) != 1 || g.snapshots[0].end != 2 || !g.snapshots[0].frozen {
		t.Errorf("%+v", g.snapshots)
	}
}

// Apache Kafka counts the bytes of whole batches, those of control records among
// them: small batches and epochs take a log far beyond what their records do.
func TestABatchCountsWithAllItsBytes(t *testing.T) {
	g, s := &ground{high: 1}, &seen{}
	v := newTestView(g, s, SnapshotPolicy{Bytes: 1000})
	commit(t, v, 0, level())
	for i := range kafka.Offset(16) {
		commit(t, v, 1+i) // of control records
	}
	idle(t, v)
	if len(g.snapshots) != 1 {
		t.Errorf("%d snapshots after 17 batches, 61 bytes and more each", len(g.snapshots))
	}
}

func TestASnapshotIsWrittenAfterTheIntervalIfSomethingWasCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := &ground{high: 1}, &seen{}
		v := newTestView(g, s, SnapshotPolicy{Bytes: 1 << 30, Interval: time.Hour})
		commit(t, v, 0, level())
		time.Sleep(2 * time.Hour)
		commit(t, v, 1, topic(0))
		idle(t, v)
		commit(t, v, 2, topic(1))
		idle(t, v)
		if len(g.snapshots) != 1 {
			t.Errorf("%d snapshots, want the one after the interval", len(g.snapshots))
		}
	})
}

// "at most so many bytes of them unless one record alone is larger": the quorum
// refuses batches above 8 MiB.
func TestASnapshotOfLargeRecordsIsCutByBytes(t *testing.T) {
	f := func(sizes []int, want ...int) {
		t.Helper()
		var to snapshotLog
		c := cutter{to: &to}
		for _, n := range sizes {
			if err := c.add(make([]byte, n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.flush(); err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, b := range to.batches {
			got = append(got, len(b))
		}
		if !slices.Equal(got, want) {
			t.Errorf("batches of %v records, want %v", got, want)
		}
	}
	const kib = 1 << 10
	f(nil)
	f([]int{600 * kib, 424 * kib, 1}, 2, 1)
	f([]int{600 * kib, 600 * kib, 600 * kib}, 1, 1, 1)
	f([]int{1, 3000 * kib, 1}, 1, 1, 1)
	f(make([]int, maxSnapshotBatch+1), maxSnapshotBatch, 1)
}

func TestASnapshotWaitsForTheEndOfATransaction(t *testing.T) {
	g, s := &ground{high: 1}, &seen{}
	v := newTestView(g, s, SnapshotPolicy{Bytes: 1})
	commit(t, v, 0, level())
	idle(t, v)
	commit(t, v, 1, metarec.NewBeginTransactionRecord(), topic(0))
	idle(t, v)
	if len(g.snapshots) != 1 {
		t.Fatalf("%d snapshots while a transaction is open", len(g.snapshots)-1)
	}
	commit(t, v, 3, metarec.NewEndTransactionRecord())
	idle(t, v)
	if len(g.snapshots) != 2 || g.snapshots[1].end != 4 {
		t.Errorf("%d snapshots after the end", len(g.snapshots))
	}
}

// "and publishes what they come to as one change."
func TestBatchesCommittedTogetherArePublishedOnce(t *testing.T) {
	g, s := &ground{high: 1}, &seen{}
	v := newTestView(g, s, SnapshotPolicy{Bytes: 1 << 20})
	commit(t, v, 0, level())
	g.high = 6
	v.Commit(
		Batch{Base: 1, End: 2, Epoch: 1, Records: framed(t, topic(0))},
		Batch{Base: 2, End: 3, Epoch: 2}, // a control record
		Batch{Base: 3, End: 6, Epoch: 2, TimestampMs: 77, Records: framed(t, topic(1), topic(2), &metarec.RemoveTopicRecord{TopicId: topic(0).TopicId})},
	)
	if !slices.Equal(s.topics, []int{0, 2}) || !slices.Equal(s.created, []int{0, 2}) || !slices.Equal(s.applied, []kafka.Offset{1, 6}) {
		t.Errorf("published %v topics, %v created, applied %v", s.topics, s.created, s.applied)
	}
	want := image.Provenance{Offset: 5, Epoch: 2, TimestampMs: 77}
	if got := v.Image().Provenance(); got != want {
		t.Errorf("the image is of %+v, not %+v", got, want)
	}
}

// "In that case the snapshot is given up: the write that is under way may still
// be carried out", and nothing but that.
// "The view need not replay them then": what cannot be decoded is not looked at.
func TestWhatTheControllerWorkedOutIsNotReplayed(t *testing.T) {
	g, s := &ground{high: 1}, &seen{}
	v := newTestView(g, s, SnapshotPolicy{Bytes: 1 << 30})
	commit(t, v, 0, level())
	step := func(prev *image.Image, records ...metarec.Message) image.Stride {
		t.Helper()
		made, err := image.Step(prev, records)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	first := step(v.Image(), topic(0))
	second := step(first.Image(), topic(1))
	v.cfg.Worked = func(epoch kafka.Epoch, begin, end kafka.Offset) []image.Stride {
		if epoch == 7 && begin == 1 && end == 3 {
			return []image.Stride{first, second}
		}
		return nil
	}
	g.high = 4
	v.Commit(
		Batch{Base: 1, End: 3, Epoch: 7, TimestampMs: 9, Records: [][]byte{{1, 99, 0}, {1, 99, 0}}},
		Batch{Base: 3, End: 4, Epoch: 7, TimestampMs: 9, Records: framed(t, topic(2))},
	)
	if len(s.faults) > 0 || !slices.Equal(s.topics, []int{0, 3}) || !slices.Equal(s.created, []int{0, 3}) {
		t.Errorf("faults %v, published %v topics, %v created", s.faults, s.topics, s.created)
	}
	if got, want := v.Image().Provenance(), (image.Provenance{Offset: 3, Epoch: 7, TimestampMs: 9}); got != want {
		t.Errorf("the image is of %+v, not %+v", got, want)
	}
}

// "Generation does not stall commits" (KIP-630): what is committed while the disk takes
// its time over a snapshot is published at once, and no second snapshot is begun.
func TestCommitsGoOnWhileASnapshotIsWritten(t *testing.T) {
	g, s := &ground{high: 1, hang: make(chan struct{})}, &seen{}
	v := newTestView(g, s, SnapshotPolicy{Bytes: 1})
	commit(t, v, 0, level())
	for i := range 5 {
		commit(t, v, kafka.Offset(i+1), topic(byte(i)))
		if n := v.Image().Topics().Len(); n != i+1 || s.topics[len(s.topics)-1] != i+1 {
			t.Fatalf("%d topics in the image, %v published", n, s.topics)
		}
	}
	close(g.hang)
	idle(t, v)
	if len(g.snapshots) != 1 || !g.snapshots[0].frozen {
		t.Errorf("%d snapshots", len(g.snapshots))
	}
}

// Rule: nobody has to act when the quorum was left before a snapshot was done.
func TestASnapshotThatAStopCutsShortIsNoFault(t *testing.T) {
	f := func(refuse error, want bool) {
		t.Helper()
		var said strings.Builder
		g, s := &ground{high: 1, refuse: refuse}, &seen{}
		v := newTestView(g, s, SnapshotPolicy{Bytes: 1})
		v.cfg.Log = slog.New(slog.NewTextHandler(&said, nil))
		commit(t, v, 0, level())
		idle(t, v)
		if (said.Len() > 0) != want {
			t.Errorf("after %v it says %q", refuse, said.String())
		}
	}
	f(fmt.Errorf("telling: %w", ErrQuorumStopped), false)
	f(errors.New("no room"), true)
}

func TestASnapshotOnAHangingDiskIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := &ground{high: 1, hang: make(chan struct{})}, &seen{}
		v := newTestView(g, s, SnapshotPolicy{Bytes: 1})
		records := []metarec.Message{level()}
		for i := range maxSnapshotBatch + 1 {
			records = append(records, &metarec.TopicRecord{Name: fmt.Sprint("t", i), TopicId: kafka.UUID{byte(i), byte(i >> 8), 15: 200}})
		}
		commit(t, v, 0, records...)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := v.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("waited for a disk that hangs: %v", err)
		}
		close(g.hang)
		idle(t, v)
		if w := g.snapshots[0]; len(w.batches) != 1 || w.frozen || !w.closed {
			t.Errorf("%d batches written, frozen: %v, closed: %v", len(w.batches), w.frozen, w.closed)
		}
		commit(t, v, kafka.Offset(len(records)), topic(0))
		idle(t, v)
		if len(g.snapshots) != 1 {
			t.Error("another snapshot was begun")
		}
	})
}
