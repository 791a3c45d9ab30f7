package storage

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
)

const testDir = "/data/t-0"

// never is Kafka's "no limit" for numbers and times.
const never = math.MaxInt64

// testConfig are the defaults that matter to a log.
func testConfig() config.LogConfig {
	return config.LogConfig{
		CleanupDelete: true, SegmentBytes: 1 << 30, SegmentMs: never, SegmentIndexBytes: 10 << 20,
		IndexIntervalBytes: 4096, RetentionMs: -1, RetentionBytes: -1, FlushMessages: never, FlushMs: never,
		FileDeleteDelayMs: 60_000, MaxMessageBytes: 1 << 20, MaxDecompressedMessageBytes: 1 << 28,
		DeleteRetentionMs: 86_400_000, MaxCompactionLagMs: never, MinCleanableDirtyRatio: 0.5,
	}
}

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// rig is a log with what it stands on.
type rig struct {
	t     testing.TB
	disk  *vfs.Mem
	fault *vfs.Fault
	clock *clock
	opt   Options
	*Log
}

func newRig(t testing.TB, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, disk: vfs.NewMem(), clock: &clock{time.UnixMilli(1_700_000_000_000)}}
	must(t, vfs.MkdirAllSync(r.disk, filepath.Dir(testDir), 0o755))
	r.fault = vfs.NewFault(r.disk)
	r.opt = Options{
		FS: r.fault, Dir: testDir, TP: kafka.TopicPartition{Topic: "t"}, Config: testConfig(),
		Now: r.clock.Now, Files: NewFiles(4),
	}
	for _, f := range change {
		f(&r.opt)
	}
	r.open()
	return r
}

func (r *rig) open() {
	r.t.Helper()
	l, err := Open(r.opt)
	must(r.t, err)
	r.Log = l
}

// reopen opens the log as after a kill, or with clean set after a stop.
func (r *rig) reopen(clean bool) {
	r.t.Helper()
	if clean {
		must(r.t, r.Close(true))
	}
	r.opt.Clean, r.opt.SameBoot = clean, !clean
	r.opt.LogStart = r.Start()
	r.open()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// records is a batch of n records whose values are name-0, name-1, ...
func records(name string, n int, at int64, opt batch.Options) []byte {
	b := batch.NewBuilder(opt)
	for i := range n {
		b.Add(at+int64(i), []byte("key"), fmt.Appendf(nil, "%s-%d", name, i))
	}
	return b.Build(nil)
}

func plain(name string, n int) []byte {
	return records(name, n, 1_700_000_000_000, batch.Options{})
}

func (r *rig) append(b []byte) Appended {
	r.t.Helper()
	a, err := r.AppendLeader(b, 1)
	must(r.t, err)
	return a
}

// values reads all records from an offset on, as "offset=value" words.
func (r *rig) values(from kafka.Offset) string {
	r.t.Helper()
	return strings.Join(valuesOf(r.t, r.Log, from), " ")
}

func valuesOf(t testing.TB, l *Log, from kafka.Offset) []string {
	t.Helper()
	var out []string
	var d batch.Decoder
	for end := l.End(); from < end; {
		s, err := l.Read(from, 1<<20, end, true)
		must(t, err)
		b, err := s.AppendTo(nil)
		must(t, err)
		s.Close()
		if len(b) == 0 {
			break
		}
		for h, bytes := range batch.All(b) {
			if !batch.CheckCRC(bytes) {
				t.Fatalf("checksum of the batch at %d", h.BaseOffset)
			}
			for rec, err := range d.Records(bytes) {
				must(t, err)
				if rec.Offset >= from {
					out = append(out, fmt.Sprintf("%d=%s", rec.Offset, rec.Value))
				}
			}
			from = max(from, h.End())
		}
	}
	return out
}

func (r *rig) wants(from kafka.Offset, want string) {
	r.t.Helper()
	if got := r.values(from); got != want {
		r.t.Errorf("from %d the log holds %q, want %q", from, got, want)
	}
}

func TestALeaderGivesOffsetsAndEpochs(t *testing.T) {
	r := newRig(t)
	must(t, r.BecomeLeader(1))
	if a := r.append(plain("a", 2)); a.Base != 0 || a.End != 2 || a.AppendTime != -1 {
		t.Errorf("first append: %+v", a)
	}
	if a := r.append(plain("b", 1)); a.Base != 2 || a.End != 3 {
		t.Errorf("second append: %+v", a)
	}
	r.wants(0, "0=a-0 1=a-1 2=b-0")
	r.wants(1, "1=a-1 2=b-0")
	for range 2 {
		if e := r.LastEpoch(); e != 1 {
			t.Errorf("last epoch %d, want 1", e)
		}
		r.reopen(true)
	}
	r.wants(0, "0=a-0 1=a-1 2=b-0")
}

// Offsets end where an int64 does. Batches that would go on behind that are
// damaged, and a log that stands there takes no more.
func TestOffsetsEndWithTheirType(t *testing.T) {
	r := newRig(t)
	b := plain("a", 2)
	batch.SetBaseOffset(b, math.MaxInt64-1)
	if _, err := r.AppendFollower(b, 1); kerr.Of(err) != kerr.CorruptMessage || r.End() != 0 {
		t.Errorf("got %v, and the log ends at %d", err, r.End())
	}
	batch.SetBaseOffset(b, math.MaxInt64-2)
	if _, err := r.AppendFollower(b, 1); err != nil || r.End() != math.MaxInt64 {
		t.Errorf("got %v, and the log ends at %d", err, r.End())
	}
	if _, err := r.AppendLeader(plain("b", 1), 1); err == nil || r.End() != math.MaxInt64 || r.Err() != nil {
		t.Errorf("got %v, and the log ends at %d, %v", err, r.End(), r.Err())
	}
}

func TestAReadIsBounded(t *testing.T) {
	r := newRig(t)
	first := int64(len(plain("a", 1)))
	for _, name := range []string{"a", "b", "c"} {
		r.append(plain(name, 1))
	}
	f := func(from kafka.Offset, maxBytes int, below kafka.Offset, atLeastOne bool, off, n int64) {
		t.Helper()
		s, err := r.Read(from, maxBytes, below, atLeastOne)
		must(t, err)
		defer s.Close()
		if s.Len != n || n > 0 && s.Off != off {
			t.Errorf("slice is [%d, +%d), want [%d, +%d)", s.Off, s.Len, off, n)
		}
	}
	f(0, 1<<20, 3, false, 0, 3*first)
	f(1, 1<<20, 3, false, first, 2*first)
	f(1, 1<<20, 2, false, first, first) // nothing at or above the bound
	f(0, 1<<20, 0, false, 0, 0)
	f(3, 1<<20, 9, true, 0, 0) // at the end: empty, no error
	f(2, 1<<20, 1, true, 0, 0) // above the bound: empty, no error
	f(0, 10, 3, false, 0, 10)
	f(0, 10, 3, true, 0, first) // KIP-74: the first batch is whole
	for _, from := range []kafka.Offset{-1, 4} {
		if _, err := r.Read(from, 1, 3, true); !errors.Is(err, kerr.OffsetOutOfRange) {
			t.Errorf("read at %d: %v, want OFFSET_OUT_OF_RANGE", from, err)
		}
	}
}

func TestEveryOffsetIsFoundThroughTheIndex(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config.IndexIntervalBytes, o.Config.SegmentBytes = 100, 4000 })
	for i := range 300 {
		r.append(plain(fmt.Sprint(i), 1+i%3))
	}
	for _, clean := range []bool{true, false} {
		for from := kafka.Offset(0); from < r.End(); from++ {
			s, err := r.Read(from, 1, r.End(), true)
			must(t, err)
			b, err := s.AppendTo(nil)
			must(t, err)
			s.Close()
			h, err := batch.ParseHeader(b)
			must(t, err)
			if h.BaseOffset > from || h.Last() < from {
				t.Fatalf("read at %d gives the batch [%d, %d]", from, h.BaseOffset, h.Last())
			}
		}
		r.reopen(clean)
	}
	if r.Segments() < 5 {
		t.Errorf("only %d segments", r.Segments())
	}
}

func TestAFollowerKeepsOffsetsAndChecksThem(t *testing.T) {
	leader, f := newRig(t), newRig(t)
	leader.append(plain("a", 2))
	leader.append(plain("b", 2))
	s, err := leader.Read(0, 1<<20, 4, true)
	must(t, err)
	b, err := s.AppendTo(nil)
	must(t, err)
	s.Close()

	cut := b[:len(b)-3] // a fetch may end within a batch
	a, err := f.AppendFollower(cut, 1)
	must(t, err)
	if a.Base != 0 || a.End != 2 {
		t.Errorf("appended %+v, want [0, 2)", a)
	}
	if _, err := f.AppendFollower(b, 1); !errors.Is(err, ErrGap) {
		t.Errorf("batches below the end give %v, want ErrGap", err)
	}
	second := b[len(b)/2:]
	broken := append([]byte(nil), second...)
	broken[len(broken)-1]++
	if _, err := f.AppendFollower(broken, 1); !errors.Is(err, kerr.CorruptMessage) {
		t.Errorf("a wrong checksum gives %v, want CORRUPT_MESSAGE", err)
	}
	_, err = f.AppendFollower(second, 1)
	must(t, err)
	f.wants(0, "0=a-0 1=a-1 2=b-0 3=b-1")
	if e := f.LastEpoch(); e != 1 {
		t.Errorf("a follower learns epochs from batches: last is %d, want 1", e)
	}
}

func TestSegmentsRoll(t *testing.T) {
	size := len(plain("a", 1))
	bases := func(change func(*config.LogConfig), then func(r *rig)) string {
		r := newRig(t, func(o *Options) { change(&o.Config) })
		then(r)
		var out []string
		for _, s := range r.segments {
			out = append(out, fmt.Sprint(s.base))
		}
		return strings.Join(out, " ")
	}
	times := func(ts ...int64) func(*rig) {
		return func(r *rig) {
			for _, t := range ts {
				b := records("a", 1, t, batch.Options{})
				r.append(b)
			}
		}
	}
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("segments begin at %q, want %q", got, want)
		}
	}
	// size > segment.bytes - S
	f(bases(func(c *config.LogConfig) { c.SegmentBytes = 2 * size }, times(1, 1, 1, 1)), "0 2")
	f(bases(func(c *config.LogConfig) { c.SegmentBytes = 2*size - 1 }, times(1, 1, 1)), "0 1 2")
	// the set's max timestamp - the first batch's > segment.ms
	f(bases(func(c *config.LogConfig) { c.SegmentMs = 10 }, times(1, 11, 12)), "0 2")
	// no timestamps: wall clock since the segment was made
	f(bases(func(c *config.LogConfig) { c.SegmentMs = 10 }, func(r *rig) {
		times(-1, -1)(r)
		r.clock.now = r.clock.now.Add(11 * time.Millisecond)
		times(-1)(r)
	}), "0 2")
	// a full index
	f(bases(func(c *config.LogConfig) { c.IndexIntervalBytes, c.SegmentIndexBytes = 0, 3*timeEntrySize }, times(1, 2, 3, 4, 5)), "0 3")
	// an empty active segment is never rolled
	f(bases(func(c *config.LogConfig) { c.SegmentMs = 10 }, func(r *rig) {
		r.clock.now = r.clock.now.Add(time.Hour)
		times(-1)(r)
	}), "0")
}

func TestASetLargerThanASegmentIsRefused(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config.SegmentBytes = 70 })
	if _, err := r.AppendLeader(plain("a", 5), 1); !errors.Is(err, kerr.RecordListTooLarge) {
		t.Errorf("error %v, want RECORD_LIST_TOO_LARGE", err)
	}
}

func TestOffsetsThatDoNotFitTheBaseBeginASegment(t *testing.T) {
	r := newRig(t)
	far := records("far", 1, 1, batch.Options{BaseOffset: math.MaxInt32 + 10})
	r.append(plain("a", 1))
	_, err := r.AppendFollower(far, 1)
	must(t, err)
	if r.Segments() != 2 || r.ActiveSegment() != 10 {
		t.Errorf("%d segments, the last at %d", r.Segments(), r.ActiveSegment())
	}
	r.reopen(false)
	r.wants(0, fmt.Sprintf("0=a-0 %d=far-0", math.MaxInt32+10))
}

func TestAFailedWriteIsFinal(t *testing.T) {
	var told []error
	r := newRig(t, func(o *Options) { o.OnError = func(err error) { told = append(told, err) } })
	r.append(plain("a", 1))
	r.fault.Inject(vfs.Rule{Ops: vfs.OpWrite, Path: ".log", Only: 1, Err: vfs.ErrNoSpace, Short: true})
	for range 2 {
		if _, err := r.AppendLeader(plain("b", 1), 1); !errors.Is(err, kerr.KafkaStorageError) {
			t.Errorf("error %v, want KAFKA_STORAGE_ERROR", err)
		}
	}
	if _, err := r.Sync(); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("sync after the failure: %v", err)
	}
	if len(told) != 1 || !errors.Is(told[0], vfs.ErrNoSpace) {
		t.Errorf("the owner was told %v, want ENOSPC once", told)
	}
	r.wants(0, "0=a-0")
	r.fault.Heal()
	r.opt.SameBoot = true
	r.open() // a restart cuts the half that was written
	r.append(plain("c", 1))
	r.wants(0, "0=a-0 1=c-0")
}

func TestFlushMsSyncsAtATick(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config.FlushMs = 100 })
	r.append(plain("a", 1))
	must(t, r.Tick())
	if p := r.RecoveryPoint(); p != 0 {
		t.Errorf("synced too early: %d", p)
	}
	r.clock.now = r.clock.now.Add(100 * time.Millisecond)
	must(t, r.Tick())
	if p := r.RecoveryPoint(); p != 1 {
		t.Errorf("recovery point %d, want 1", p)
	}
}

func TestFewFilesAreOpen(t *testing.T) {
	files := NewFiles(5)
	var logs []*rig
	for range 20 {
		logs = append(logs, newRig(t, func(o *Options) { o.Files = files }))
	}
	for range 3 {
		for _, r := range logs {
			r.append(plain("a", 1))
			r.values(0)
		}
	}
	if n := files.Open(); n > 5 {
		t.Errorf("%d files are open, the limit is 5", n)
	}
	for _, r := range logs {
		must(t, r.Close(false))
	}
	if n := files.Open(); n != 0 {
		t.Errorf("%d files are open after all logs were closed", n)
	}
}

// A partition may be deleted while others still hold its log: that is no
// failure of the disk.
func TestAClosedLogIsNoFailure(t *testing.T) {
	var told []error
	r := newRig(t, func(o *Options) { o.OnError = func(err error) { told = append(told, err) } })
	r.append(plain("a", 1))
	must(t, r.Roll())
	r.append(plain("b", 1))
	must(t, r.Rename(testDir+"-gone"))
	must(t, r.Close(false))
	must(t, r.disk.RemoveAll(testDir+"-gone"))
	f := func(doing string, err error) {
		t.Helper()
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s gives %v, want ErrClosed", doing, err)
		}
	}
	_, err := r.AppendLeader(plain("c", 1), 1)
	f("append", err)
	_, err = r.Read(0, 1<<20, 1, true)
	f("read", err)
	_, err = r.Sync()
	f("sync", err)
	f("sync of sealed segments", r.SyncSealed())
	f("tick", r.Tick())
	f("roll", r.Roll())
	_, err = r.DeleteOld(2)
	f("retention", err)
	f("truncation", r.TruncateTo(1))
	_, err = r.Dirt(0, 2, never)
	f("dirt", err)
	_, _, err = r.OffsetForTimestamp(0, 2)
	f("lookup", err)
	must(t, r.Close(true))
	if len(told) != 0 || r.Err() != nil {
		t.Errorf("the disk counts as failed: %v", told)
	}
}

// A header that has rotted is for readers to find, not for a roll or an append.
func TestARottenHeaderStopsNoAppend(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config.SegmentMs, o.Config.IndexIntervalBytes = 1000, 1 })
	r.append(plain("a", 1))
	for range 3 {
		r.append(plain("b", 1))
	}
	must(t, r.Close(true))
	r.opt.Clean = true
	rot := func(pos int64) {
		f, err := r.disk.OpenFile(testDir+"/"+FileName(0, logSuffix), os.O_RDWR, 0)
		must(t, err)
		_, err = f.WriteAt([]byte{0xff}, pos+16) // the magic byte
		must(t, err)
		must(t, f.Close())
	}
	r.open()
	rot(0)
	r.append(plain("c", 1)) // asks whether the segment is old enough
	must(t, r.TruncateTo(4))
	rot(r.Size() / 4)
	r.append(plain("d", 1)) // asks for the segment's largest timestamp
	must(t, r.Roll())
	if r.Err() != nil {
		t.Error(r.Err())
	}
	_, _, err := r.OffsetForTimestamp(0, 9)
	if !errors.Is(err, kerr.CorruptMessage) {
		t.Errorf("a reader gets %v, want CORRUPT_MESSAGE", err)
	}
}
