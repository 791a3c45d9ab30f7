package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// compacted is a log with cleanup.policy=compact.
func compacted(t testing.TB, change ...func(*Options)) *rig {
	return newRig(t, append([]func(*Options){func(o *Options) {
		o.Config.CleanupDelete, o.Config.CleanupCompact = false, true
		o.Config.DeleteRetentionMs = 1000
	}}, change...)...)
}

// put appends one batch of "key=value" words; "key=" is a tombstone.
func (r *rig) put(opt batch.Options, words ...string) {
	r.t.Helper()
	b := batch.NewBuilder(opt)
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		v := []byte(value)
		if value == "" {
			v = nil
		}
		b.Add(r.clock.now.UnixMilli(), []byte(key), v)
	}
	r.append(b.Build(nil))
}

// compact cleans the log as far as it goes, and gives where to.
func (r *rig) compact(cleaned kafka.Offset) kafka.Offset {
	r.t.Helper()
	must(r.t, r.SyncSealed())
	d, err := r.Dirt(cleaned, r.End(), never)
	must(r.t, err)
	c := Compactor{KeyBytes: 1 << 20}
	to, err := c.Compact(r.Log, d)
	must(r.t, err)
	return to
}

// pairs reads the log as "offset:key=value" words, markers as "offset:marker".
func (r *rig) pairs() string {
	r.t.Helper()
	return r.pairsFrom(r.Start())
}

func (r *rig) pairsFrom(from kafka.Offset) string {
	r.t.Helper()
	var out []string
	var d batch.Decoder
	for from < r.End() {
		s, err := r.Read(from, 1<<20, r.End(), true)
		must(r.t, err)
		b, err := s.AppendTo(nil)
		must(r.t, err)
		s.Close()
		if len(b) == 0 {
			break
		}
		for h, bytes := range batch.All(b) {
			if !batch.CheckCRC(bytes) {
				r.t.Fatalf("checksum of the batch at %d", h.BaseOffset)
			}
			if h.Count == 0 {
				out = append(out, fmt.Sprintf("%d:empty", h.Last()))
			}
			for rec, err := range d.Records(bytes) {
				must(r.t, err)
				text := fmt.Sprintf("%d:%s=%s", rec.Offset, rec.Key, rec.Value)
				if h.Control() {
					text = fmt.Sprintf("%d:marker", rec.Offset)
				}
				out = append(out, text)
			}
			from = h.End()
		}
	}
	return strings.Join(out, " ")
}

func (r *rig) holds(want string) {
	r.t.Helper()
	if got := r.pairs(); got != want {
		r.t.Errorf("the log holds %q, want %q", got, want)
	}
	if r.Err() != nil {
		r.t.Error(r.Err())
	}
}

func TestCompactionKeepsTheNewestOfEachKey(t *testing.T) {
	for codec := batch.None; codec <= batch.Zstd; codec++ {
		r := compacted(t)
		opt := batch.Options{Codec: codec}
		r.put(opt, "a=1", "b=1", "c=1")
		r.put(opt, "a=2", "b=2")
		must(t, r.Roll())
		r.put(opt, "a=3")
		must(t, r.Roll())
		r.put(opt, "c=9") // the active segment takes no part
		if to := r.compact(0); to != 6 {
			t.Errorf("cleaned to %d, want 6", to)
		}
		want := "2:c=1 4:b=2 5:a=3 6:c=9"
		r.holds(want)
		if r.Segments() != 2 {
			t.Errorf("%d segments, want the sealed ones in one", r.Segments())
		}
		checkDerived(t, r.Log)
		r.reopen(false)
		r.holds(want)
		r.put(opt, "z=1")
		r.holds(want + " 7:z=1")
	}
}

func TestOffsetsInGapsAreReadFromTheNextBatch(t *testing.T) {
	r := compacted(t)
	for i := range 10 {
		r.put(batch.Options{}, fmt.Sprintf("k=%d", i))
		must(t, r.Roll())
	}
	r.compact(0)
	for from := range kafka.Offset(10) {
		s, err := r.Read(from, 1<<20, 10, true)
		must(t, err)
		b, err := s.AppendTo(nil)
		must(t, err)
		s.Close()
		if h, err := batch.ParseHeader(b); err != nil || h.BaseOffset != 9 {
			t.Errorf("read at %d gives the batch at %d, %v; want 9", from, h.BaseOffset, err)
		}
	}
}

func TestATombstoneGoesAfterItsHorizon(t *testing.T) {
	r := compacted(t)
	r.put(batch.Options{}, "a=1", "b=1")
	r.put(batch.Options{}, "a=", "c=1")
	r.put(batch.Options{}, "d=1")
	must(t, r.Roll())
	r.compact(0)
	r.holds("1:b=1 2:a= 3:c=1 4:d=1") // the first round that sees it sets the horizon
	r.clock.now = r.clock.now.Add(999 * time.Millisecond)
	again := func() {
		must(t, r.Roll())
		r.put(batch.Options{}, "e=1")
		must(t, r.Roll())
		r.compact(0)
	}
	again()
	r.holds("1:b=1 2:a= 3:c=1 4:d=1 5:e=1")
	r.clock.now = r.clock.now.Add(time.Millisecond)
	again()
	r.holds("1:b=1 3:c=1 4:d=1 6:e=1")
	if got, ok, err := r.OffsetForTimestamp(0, 9); err != nil || !ok || got.Timestamp != 1_700_000_000_000 {
		t.Errorf("timestamps survive the horizon: %+v %v %v", got, ok, err)
	}
}

func TestTheLastBatchOfTheRoundLeavesItsHeader(t *testing.T) {
	r := compacted(t)
	r.put(batch.Options{}, "a=1")
	r.put(batch.Options{}, "a=", "a=")
	must(t, r.Roll())
	r.compact(0)
	r.holds("2:a=")
	r.clock.now = r.clock.now.Add(time.Hour)
	r.compact(0)
	r.holds("2:empty")
	r.reopen(false)
	if r.End() != 3 {
		t.Errorf("the log ends at %d, want 3", r.End())
	}
}

func TestTheSequenceOfAProducerOutlivesItsRecords(t *testing.T) {
	r := compacted(t)
	p := func(sequence int32) batch.Options {
		return batch.Options{Producer: &batch.Producer{ID: 7, Epoch: 2, Sequence: sequence}}
	}
	r.put(p(0), "a=1")
	r.put(p(1), "a=2")
	r.put(batch.Options{}, "a=3")
	must(t, r.Roll())
	r.compact(0)
	r.holds("1:empty 2:a=3")
	r.reopen(false)
	if list := r.Producers(); len(list) != 1 || list[0].LastSequence != 1 || list[0].Epoch != 2 {
		t.Errorf("producers are %+v", list)
	}
}

func TestRecordsOfAbortedTransactionsGoAndMarkersFollow(t *testing.T) {
	r := compacted(t)
	txn := func(sequence int32) batch.Options {
		return batch.Options{Producer: &batch.Producer{ID: 7, Epoch: 0, Sequence: sequence}, Transactional: true}
	}
	r.put(txn(0), "a=1")
	must(t, r.end(0, batch.Commit, 0))
	r.put(txn(1), "a=2")
	must(t, r.end(0, batch.Abort, 0))
	r.put(batch.Options{}, "z=1")
	r.put(batch.Options{Producer: &batch.Producer{ID: 7, Epoch: 1, Sequence: 0}}, "y=1")
	must(t, r.Roll())
	r.put(batch.Options{}, "q=1")
	r.compact(0)
	// The aborted value did not hide the committed one, and both markers stay
	// as long as data of theirs was met.
	r.holds("0:a=1 1:marker 3:marker 4:z=1 5:y=1 6:q=1")
	if got, err := r.AbortedTxns(0, 7); err != nil || len(got) != 1 || got[0].Last != 3 {
		t.Errorf("aborted transactions are %v %v", got, err)
	}
	r.compact(0) // no data of the aborted one is left: its marker gets a horizon
	r.holds("0:a=1 1:marker 3:marker 4:z=1 5:y=1 6:q=1")
	r.clock.now = r.clock.now.Add(time.Second)
	r.compact(0)
	r.holds("0:a=1 1:marker 4:z=1 5:y=1 6:q=1")
	if got, err := r.AbortedTxns(0, 7); err != nil || len(got) != 0 {
		t.Errorf("aborted transactions are %v %v", got, err)
	}
}

func TestARoundEndsWhereTheMemoryForKeysDoes(t *testing.T) {
	r := compacted(t)
	for round := range 2 {
		for i := range 40 {
			r.put(batch.Options{}, fmt.Sprintf("k%d=%d", i, round))
		}
	}
	must(t, r.Roll())
	must(t, r.SyncSealed())
	c := Compactor{KeyBytes: 1} // the smallest map: 12 keys
	at, rounds := kafka.Offset(0), 0
	for at < 80 {
		d, err := r.Dirt(at, r.End(), never)
		must(t, err)
		next, err := c.Compact(r.Log, d)
		must(t, err)
		if next <= at {
			t.Fatalf("round %d went from %d to %d", rounds, at, next)
		}
		at = next
		rounds++
	}
	if rounds < 3 {
		t.Errorf("all was done in %d rounds", rounds)
	}
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprintf("%d:k%d=1", 40+i, i))
	}
	r.holds(strings.Join(want, " "))
}

func TestWhatCanBeCompacted(t *testing.T) {
	r := compacted(t, func(o *Options) { o.Config.MinCompactionLagMs = 5000 })
	for range 3 {
		r.put(batch.Options{}, "a=1")
		must(t, r.Roll())
		r.clock.now = r.clock.now.Add(3 * time.Second)
	}
	f := func(cleaned, hw, from, to kafka.Offset) {
		t.Helper()
		d, err := r.Dirt(cleaned, hw, never)
		must(t, err)
		if d.From != from || d.To != to {
			t.Errorf("dirt is [%d, %d), want [%d, %d)", d.From, d.To, from, to)
		}
	}
	f(0, 3, 0, 0) // nothing is synced
	must(t, r.SyncSealed())
	f(0, 3, 0, 2) // min.compaction.lag.ms: the third segment is too young
	f(0, 1, 0, 1) // not above the high watermark
	f(1, 3, 1, 2)
	f(99, 3, 0, 2) // a checkpoint that cannot be
	d, err := r.Dirt(1, 3, never)
	must(t, err)
	if d.Ratio() != 0.5 || d.Due(0.5) || !d.Due(0.49) {
		t.Errorf("ratio %v, due %v", d.Ratio(), d.Due(0.5))
	}
	c := r.Config()
	c.MaxCompactionLagMs = 8000
	r.SetConfig(c)
	if d, err = r.Dirt(0, 3, never); err != nil || !d.Overdue || !d.Due(1) {
		t.Errorf("a record older than max.compaction.lag.ms makes a log due: %+v %v", d, err)
	}
}

func TestALogThatCannotBeReadIsLeftAlone(t *testing.T) {
	r := compacted(t)
	r.put(batch.Options{Codec: batch.Gzip}, "a=1")
	r.put(batch.Options{}, "a=2")
	must(t, r.Roll())
	must(t, r.SyncSealed())
	f, err := r.disk.OpenFile(testDir+"/"+FileName(0, logSuffix), 2, 0)
	must(t, err)
	_, err = f.WriteAt([]byte{0xff}, batch.HeaderSize+3)
	must(t, err)
	d, err := r.Dirt(0, r.End(), never)
	must(t, err)
	c := Compactor{KeyBytes: 1 << 20}
	if _, err := c.Compact(r.Log, d); !errors.Is(err, ErrUncleanable) {
		t.Errorf("error %v, want ErrUncleanable", err)
	}
	if r.Err() != nil {
		t.Errorf("the log failed: %v", r.Err())
	}
	r.put(batch.Options{}, "b=1")
}

func TestACompactionGivesWayToATruncation(t *testing.T) {
	r := compacted(t)
	r.put(batch.Options{}, "a=1")
	r.put(batch.Options{}, "a=2")
	must(t, r.Roll())
	must(t, r.SyncSealed())
	d, err := r.Dirt(0, r.End(), never)
	must(t, err)
	c := Compactor{KeyBytes: 1 << 20}
	sources, err := compaction{r.Log}.pinned(d.To)
	must(t, err)
	must(t, r.TruncateTo(1))
	round, err := c.round(r.Log, sources, d)
	must(t, err)
	if err := round.rewriteAll(sources); !errors.Is(err, errChanged) {
		t.Errorf("error %v, want errChanged", err)
	}
	unpin(sources)
	r.holds("0:a=1")
	r.reopen(false)
	r.holds("0:a=1")
}

func TestACompactionSurvivesACutAtEveryStep(t *testing.T) {
	for cut := 0; ; cut++ {
		r := compacted(t, func(o *Options) { o.Config.SegmentBytes = 300 })
		for i := range 12 {
			r.put(batch.Options{}, fmt.Sprintf("k%d=%d", i%3, i), fmt.Sprintf("only%d=%d", i, i))
			must(t, r.Roll())
		}
		_, err := r.Sync()
		must(t, err)
		newest := map[string]bool{"k0=9": true, "k1=10": true, "k2=11": true}
		for i := range 12 {
			newest[fmt.Sprintf("only%d=%d", i, i)] = true
		}
		r.fault.StopAfter(cut)
		d, err := r.Dirt(0, r.End(), never)
		var to kafka.Offset
		if err == nil {
			c := Compactor{KeyBytes: 1 << 20}
			to, err = c.Compact(r.Log, d)
		}
		check := func(disk *vfs.Mem, boot bool) {
			t.Helper()
			l, err := Open(Options{FS: disk, Dir: testDir, TP: r.opt.TP, Config: r.opt.Config, Now: r.clock.Now, RecoveryPoint: 24, SameBoot: boot, Gapless: true})
			must(t, err)
			after := &rig{t: t, Log: l}
			words := strings.Fields(after.pairs())
			have := map[string]bool{}
			last := -1
			for _, w := range words {
				var offset int
				_, err := fmt.Sscanf(w, "%d:", &offset)
				must(t, err)
				if offset <= last {
					t.Fatalf("cut %d: offsets go back in %v", cut, words)
				}
				last = offset
				_, pair, _ := strings.Cut(w, ":")
				have[pair] = true
			}
			for pair := range newest {
				if !have[pair] {
					t.Fatalf("cut %d: %s is gone: %v", cut, pair, words)
				}
			}
			if l.End() != 24 {
				t.Fatalf("cut %d: the log ends at %d, want 24", cut, l.End())
			}
			checkDerived(t, l)
			list, err := disk.ReadDir(testDir)
			must(t, err)
			if slices.ContainsFunc(list, func(e fs.DirEntry) bool {
				return strings.HasSuffix(e.Name(), cleanedSuffix) || strings.HasSuffix(e.Name(), swapSuffix) || strings.HasSuffix(e.Name(), deletedSuffix)
			}) {
				t.Fatalf("cut %d: files are left over: %v", cut, list)
			}
		}
		check(r.disk.Crash(), false)
		for seed := range uint64(4) {
			check(r.disk.CrashTorn(seed), false)
		}
		check(r.disk, true)
		if err == nil && to == 24 {
			if cut < 30 {
				t.Fatalf("only %d steps", cut)
			}
			return
		}
	}
}

// A recovery point that no checkpoint names may fall back at a loss of power, and
// gaps above it would look like losses.
func TestCompactionStaysBelowTheCheckpointedRecoveryPoint(t *testing.T) {
	r := compacted(t)
	for range 3 {
		r.put(batch.Options{}, "a=1")
		must(t, r.Roll())
	}
	must(t, r.SyncSealed())
	for checkpointed, want := range map[kafka.Offset]kafka.Offset{0: 0, 1: 1, 2: 2, 9: 3} {
		if d, err := r.Dirt(0, r.End(), checkpointed); err != nil || d.To != want {
			t.Errorf("with %d checkpointed compaction goes to %d, want %d; %v", checkpointed, d.To, want, err)
		}
	}
}

func TestAFailedSwapLosesNoRecords(t *testing.T) {
	for skip := range 12 {
		r := compacted(t)
		r.put(batch.Options{}, "a=1", "b=1")
		must(t, r.Roll())
		must(t, r.SyncSealed())
		d, err := r.Dirt(0, r.End(), never)
		must(t, err)
		r.fault.Inject(vfs.Rule{Ops: vfs.OpRename | vfs.OpSyncDir, Skip: skip, Only: 1, Err: vfs.ErrIO})
		_, _ = (&Compactor{KeyBytes: 1 << 20}).Compact(r.Log, d) // it fails, or has too few steps for that
		r.opt.SameBoot = true
		r.open()
		r.holds("0:a=1 1:b=1")
	}
}
