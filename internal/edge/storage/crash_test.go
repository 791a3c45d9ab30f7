package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// story is a run of a log that is cut at some step, with what must be true of
// it afterwards.
type story struct {
	t *testing.T
	*rig
	// acked are the records of all appends that returned, as "offset=value".
	acked []string
	// flying is what an append or truncation that did not return would have led
	// to.
	flying []string
	synced kafka.Offset // everything below it survives a loss of power
	point  kafka.Offset // the recovery point in the directory's checkpoint
	err    error        // of the step that was cut
}

// step does something unless an earlier step was cut. Offsets have no gaps here,
// so they count the records that are acked.
func (s *story) step(do func() error) {
	if s.err == nil {
		s.err = do()
	}
}

func (s *story) append(name string, n int, opt batch.Options) {
	s.step(func() error {
		s.flying = slices.Clone(s.acked)
		for i := range n {
			s.flying = append(s.flying, fmt.Sprintf("%d=%s-%d", len(s.acked)+i, name, i))
		}
		_, err := s.AppendLeader(records(name, n, int64(1000+len(s.acked)), opt), kafka.Epoch(1+len(s.acked)/20))
		if err == nil {
			s.acked = s.flying
		}
		return err
	})
}

func (s *story) sync() {
	s.step(func() error {
		end, err := s.Sync()
		if err == nil {
			s.synced, s.point = end, end
		}
		return err
	})
}

func (s *story) truncate(end kafka.Offset) {
	s.step(func() error {
		s.flying = slices.Clone(s.acked[:end])
		s.synced = min(s.synced, end)
		err := s.TruncateTo(end)
		if err == nil {
			s.acked = s.flying
			s.synced = max(s.synced, end) // what stays was synced with the cut
		}
		return err
	})
}

// tell is the script: appends of a producer and without, rolls, syncs,
// truncations in and over segments, retention, and a clean close.
func (s *story) tell() {
	sequence := int32(0)
	produce := func(name string, n int) {
		s.append(name, n, batch.Options{Producer: &batch.Producer{ID: 7, Epoch: 1, Sequence: sequence}})
		sequence += int32(n)
	}
	plainly := func(name string, n int) { s.append(name, n, batch.Options{}) }

	plainly("a", 3)
	produce("p", 2)
	s.sync()
	for i := range 12 {
		plainly(fmt.Sprint("b", i), 1+i%3)
	}
	produce("q", 1)
	s.step(s.Roll)
	plainly("c", 2)
	s.sync()
	plainly("d", 2)
	s.truncate(14)
	sequence = 2
	plainly("e", 4)
	s.sync()
	produce("r", 2)
	s.truncate(5)
	plainly("f", 2)
	s.step(s.Tick)
	plainly("g", 9)
	s.step(s.Roll)
	s.step(func() error { return s.Close(true) })
}

func newStory(t *testing.T) *story {
	s := &story{t: t}
	s.rig = newRig(t, func(o *Options) {
		o.Config.IndexIntervalBytes, o.Config.SegmentBytes = 120, 900
		o.TopicID = storyTopic
		o.BeforeTruncate = func(to kafka.Offset) error { s.point = to; return nil }
	})
	return s
}

var storyTopic = kafka.TopicID{1, 2, 3}

// reopened opens what a cut has left. Its topic id is there if anything was
// synced; a broker would set the folder aside without.
func (s *story) reopened(disk *vfs.Mem, boot bool) *Log {
	s.t.Helper()
	l, err := Open(Options{
		FS: disk, Dir: testDir, TP: s.opt.TP, Config: s.opt.Config, Now: s.clock.Now,
		RecoveryPoint: s.point, SameBoot: boot, Gapless: true,
	})
	must(s.t, err)
	if id := l.TopicID(); id != storyTopic && (!id.IsZero() || s.synced > 0) {
		s.t.Fatalf("the topic id is %s with records synced to %d", id, s.synced)
	}
	return l
}

// check compares a recovered log with the story, then goes on with it.
func (s *story) check(l *Log, least kafka.Offset) {
	s.t.Helper()
	got := valuesOf(s.t, l, 0)
	if kafka.Offset(len(got)) != l.End() {
		s.t.Fatalf("%d records below the end %d", len(got), l.End())
	}
	if !isPrefix(got, s.acked) && !isPrefix(got, s.flying) {
		s.t.Fatalf("holds %v, want a beginning of %v or %v", got, s.acked, s.flying)
	}
	if l.End() < least {
		s.t.Fatalf("ends at %d, but %d was durable", l.End(), least)
	}
	checkDerived(s.t, l)
	_, err := l.AppendLeader(plain("after", 1), 99)
	must(s.t, err)
	if now := valuesOf(s.t, l, 0); len(now) != len(got)+1 {
		s.t.Fatalf("after one more append there are %d records, want %d", len(now), len(got)+1)
	}
	must(s.t, l.Close(true))
}

func isPrefix(a, b []string) bool { return len(a) <= len(b) && slices.Equal(a, b[:len(a)]) }

// checkDerived compares all that is derived from batches, indexes, epochs and
// producers, with what the batches say.
func checkDerived(t *testing.T, l *Log) {
	t.Helper()
	var ps producers
	var es epochs
	for _, s := range l.segments {
		must(t, s.flushIndexes())
		must(t, s.settleTimes())
		starts := map[int64]batch.Header{}
		largest := noTime
		_, err := s.scan(0, s.size, true, func(h batch.Header, pos int64, b []byte) bool {
			starts[pos] = h
			largest = max(largest, h.MaxTimestamp)
			ps.took(h, b, l.nowMs())
			es.assign(h.LeaderEpoch, h.BaseOffset)
			return true
		})
		must(t, err)
		for i := range s.offsets.n {
			e, err := s.offsets.view().at(i)
			must(t, err)
			if h, ok := starts[e.pos]; !ok || h.Last() != e.offset {
				t.Fatalf("segment %d: index entry %d is (%d, %d), no batch there ends so", s.base, i, e.offset, e.pos)
			}
		}
		for i := range s.times.n {
			e, err := s.times.view().at(i)
			must(t, err)
			for _, h := range starts {
				if h.Last() <= e.offset && h.MaxTimestamp > e.time {
					t.Fatalf("segment %d: time entry (%d, %d), but the batch at %d has time %d", s.base, e.time, e.offset, h.BaseOffset, h.MaxTimestamp)
				}
			}
		}
		if s.maxTime != largest {
			t.Fatalf("segment %d: largest time %d, want %d", s.base, s.maxTime, largest)
		}
	}
	if len(es.list) > 0 && !reflect.DeepEqual(es.list, l.epochs.list) {
		t.Fatalf("epochs are %v, the batches say %v", l.epochs.list, es.list)
	}
	for id, want := range ps.byID {
		got := l.producers.byID[id]
		wantLast, _ := want.lastBatch()
		if got == nil || got.epoch != want.epoch {
			t.Fatalf("producer %d is %+v, want %+v", id, got, want)
		}
		if last, _ := got.lastBatch(); last != wantLast && (last.lastOffset != wantLast.lastOffset || last.last != wantLast.last) {
			t.Fatalf("producer %d last wrote %+v, want %+v", id, last, wantLast)
		}
	}
	if len(l.producers.byID) != len(ps.byID) {
		t.Fatalf("%d producers are known, the batches have %d", len(l.producers.byID), len(ps.byID))
	}
}

// The rule for anything durable: stop at every step, keep only what was synced,
// open again. Here also: keep some of what was not synced, and, as after the
// kill of a process, all of it.
func TestALogSurvivesACutAtEveryStep(t *testing.T) {
	for cut := 0; ; cut++ {
		s := newStory(t)
		s.fault.StopAfter(cut)
		s.tell()
		if s.err != nil && !errors.Is(s.err, vfs.ErrStopped) && !errors.Is(s.err, ErrFailed) {
			t.Fatalf("cut %d: %v", cut, s.err)
		}
		t.Run(fmt.Sprint("cut", cut), func(t *testing.T) {
			s.t = t
			s.check(s.reopened(s.disk.Crash(), false), s.synced)
			for seed := range uint64(4) {
				s.check(s.reopened(s.disk.CrashTorn(seed), false), s.synced)
			}
			least := kafka.Offset(len(s.acked))
			if len(s.flying) < len(s.acked) {
				least = kafka.Offset(len(s.flying)) // a truncation was under way
			}
			s.check(s.reopened(s.disk, true), least)
		})
		if s.err == nil {
			if cut < 50 {
				t.Fatalf("the story has only %d steps", cut)
			}
			return
		}
	}
}

func TestACrashDuringRecoveryIsRecoveredFrom(t *testing.T) {
	s := newStory(t)
	s.tell()
	must(t, s.err)
	for cut := 0; ; cut++ {
		disk := s.disk.CrashTorn(uint64(cut))
		fault := vfs.NewFault(disk)
		fault.StopAfter(cut)
		_, err := Open(Options{FS: fault, Dir: testDir, TP: s.opt.TP, Config: s.opt.Config, Now: s.clock.Now, Gapless: true})
		if err != nil && !errors.Is(err, vfs.ErrStopped) {
			t.Fatal(err)
		}
		s.check(s.reopened(disk.CrashTorn(uint64(cut)), false), s.synced)
		if err == nil {
			return
		}
	}
}

func TestAKilledProcessLeavesATornTail(t *testing.T) {
	r := newRig(t)
	r.append(plain("a", 3))
	r.append(plain("b", 3))
	name := testDir + "/" + FileName(0, logSuffix)
	size := r.Size()
	for cut := size/2 + 1; cut < size; cut++ {
		disk := r.disk.CrashTorn(1) // a copy; what it loses is restored below
		whole, err := vfs.ReadFile(r.disk, name, 1<<20)
		must(t, err)
		must(t, vfs.MkdirAllSync(disk, testDir, 0o755))
		must(t, vfs.WriteFileAtomic(disk, name, whole[:cut]))
		l, err := Open(Options{FS: disk, Dir: testDir, Config: testConfig(), SameBoot: true})
		must(t, err)
		if l.End() != 3 || l.Size() != size/2 {
			t.Fatalf("cut at %d of %d: the log ends at %d with %d bytes, want 3 and %d", cut, size, l.End(), l.Size(), size/2)
		}
	}
}

func TestAnyFlippedByteAboveTheRecoveryPointCutsTheLogThere(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"a", "b", "c"} {
		r.append(plain(name, 1))
	}
	must(t, r.Close(true))
	name := testDir + "/" + FileName(0, logSuffix)
	whole, err := vfs.ReadFile(r.disk, name, 1<<20)
	must(t, err)
	one := len(whole) / 3
	for i := one; i < 2*one; i++ {
		at := i - one
		if 8 <= at && at < 12 || 12 <= at && at < 16 || at < 8 {
			continue // offset and epoch are not covered by the checksum; the length is tested by the torn tail
		}
		disk := r.disk.Crash()
		broken := slices.Clone(whole)
		broken[i] ^= 0x10
		must(t, vfs.WriteFileAtomic(disk, name, broken))
		l, err := Open(Options{FS: disk, Dir: testDir, Config: testConfig(), RecoveryPoint: 1})
		must(t, err)
		if l.End() != 1 {
			t.Fatalf("byte %d of the second batch: the log ends at %d, want 1", at, l.End())
		}
	}
}

func TestADamagedProducerSnapshotFallsBackToTheOneBefore(t *testing.T) {
	r := newRig(t)
	produce := func(sequence int32) {
		b := records("p", 1, 1, batch.Options{Producer: &batch.Producer{ID: 7, Epoch: 1, Sequence: sequence}})
		r.append(b)
	}
	produce(0)
	must(t, r.Roll())
	produce(1)
	must(t, r.Close(true))
	name := testDir + "/" + FileName(2, snapshotSuffix)
	b, err := vfs.ReadFile(r.disk, name, 1<<20)
	must(t, err)
	b[len(b)-1]++
	must(t, vfs.WriteFileAtomic(r.disk, name, b))
	r.opt.Clean = true
	r.open()
	if p := r.Producers(); len(p) != 1 || p[0].LastSequence != 1 {
		t.Errorf("producers are %+v, want one that wrote sequence 1", p)
	}
}

func TestALogStartAboveTheEndBeginsAnewThere(t *testing.T) {
	r := newRig(t)
	r.append(plain("a", 2))
	must(t, r.Close(true))
	r.opt.LogStart, r.opt.Clean = 10, true
	r.open()
	if r.Start() != 10 || r.End() != 10 || r.Size() != 0 {
		t.Errorf("the log is [%d, %d) with %d bytes, want empty at 10", r.Start(), r.End(), r.Size())
	}
}

// An empty file is what Apache Kafka leaves behind, and nothing to warn of.
func TestALostEpochFileIsLearntFromTheBatches(t *testing.T) {
	for _, text := range []string{"", "0\n5\n", "what?"} {
		r := newRig(t)
		for e := range kafka.Epoch(3) {
			_, err := r.AppendLeader(plain("a", 2), e)
			must(t, err)
		}
		want := r.Epochs()
		must(t, r.Close(true))
		must(t, vfs.WriteFileAtomic(r.disk, testDir+"/"+EpochFile, []byte(text)))
		var warned strings.Builder
		r.opt.Clean, r.opt.Logger = true, slog.New(slog.NewTextHandler(&warned, nil))
		r.open()
		if strings.Contains(warned.String(), "epoch file") != (text != "") {
			t.Errorf("epoch file %q: logged %q", text, warned.String())
		}
		if got := r.Epochs(); !reflect.DeepEqual(got, want) {
			t.Errorf("epoch file %q: history %v, want %v", text, got, want)
		}
	}
}

func TestRecoveryAfterAKillReadsOnlyTheTail(t *testing.T) {
	r := newRig(t)
	for range 4000 {
		r.append(plain(strings.Repeat("long", 25), 100))
	}
	total := r.Size()
	if total < 20<<20 {
		t.Fatalf("the log has only %d bytes", total)
	}
	counting := &countingFS{FS: r.disk}
	l, err := Open(Options{FS: counting, Dir: testDir, Config: testConfig(), SameBoot: true, Now: time.Now})
	must(t, err)
	if l.End() != 400_000 {
		t.Errorf("the log ends at %d", l.End())
	}
	// The tail behind the last index entry, and the headers behind the last
	// producer snapshot.
	if most := int64(snapshotEvery + 4*pendingBytes); counting.read > most {
		t.Errorf("%d of %d bytes were read, want at most %d", counting.read, total, most)
	}
}

// A missing index is no loss of power: a bad batch in such a segment costs what
// follows it there, but no other segment.
func TestABadBatchUnderAMissingIndexSparesLaterSegments(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"a", "b", "c"} {
		r.append(plain(name, 1))
		r.append(plain(name, 1))
		must(t, r.Roll())
	}
	must(t, r.Close(true))
	must(t, r.disk.Remove(testDir+"/"+FileName(2, indexSuffix)))
	f, err := r.disk.OpenFile(testDir+"/"+FileName(2, logSuffix), os.O_RDWR, 0)
	must(t, err)
	size, err := f.Size()
	must(t, err)
	_, err = f.WriteAt([]byte{0xff}, size-1)
	must(t, err)
	r.opt.Clean = true
	r.open()
	r.wants(0, "0=a-0 1=a-0 2=b-0 4=c-0 5=c-0")
}

// Only the file knows the epochs of segments that are not read again.
func TestRebuildingAnOldIndexKeepsTheEpochsOfLaterSegments(t *testing.T) {
	for _, boot := range []bool{false, true} {
		r := newRig(t)
		for e := range kafka.Epoch(3) {
			for range 2 {
				_, err := r.AppendLeader(plain("a", 2), 1+e)
				must(t, err)
			}
			must(t, r.Roll())
		}
		_, err := r.AppendLeader(plain("a", 1), 4)
		must(t, err)
		want := r.Epochs()
		must(t, r.Close(true))
		must(t, r.disk.Remove(testDir+"/"+FileName(4, indexSuffix)))
		r.opt.Clean, r.opt.SameBoot = !boot, boot
		r.open()
		if got := r.Epochs(); !reflect.DeepEqual(got, want) {
			t.Errorf("same boot %v: history %v, want %v", boot, got, want)
		}
		checkDerived(t, r.Log)
	}
}
