package storage

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

func TestTruncationEndsAtABatch(t *testing.T) {
	f := func(to, end kafka.Offset, want string) {
		t.Helper()
		r := newRig(t, func(o *Options) { o.Config.SegmentBytes = 300; o.Config.IndexIntervalBytes = 0 })
		for i := range 5 {
			_, err := r.AppendLeader(plain(fmt.Sprint(i), 2), kafka.Epoch(i))
			must(t, err)
		}
		must(t, r.TruncateTo(to))
		if r.End() != end {
			t.Errorf("truncated to %d the log ends at %d, want %d", to, r.End(), end)
		}
		r.wants(0, want)
		checkDerived(t, r.Log)
		r.append(plain("new", 1))
		r.reopen(false)
		r.wants(end, fmt.Sprintf("%d=new-0", end))
		checkDerived(t, r.Log)
	}
	all := "0=0-0 1=0-1 2=1-0 3=1-1 4=2-0 5=2-1 6=3-0 7=3-1 8=4-0 9=4-1"
	f(10, 10, all)
	f(99, 10, all)
	f(8, 8, all[:47])
	f(6, 6, all[:35])
	f(5, 4, all[:23]) // within a batch: all of it goes
	f(1, 0, "")
	f(0, 0, "")
}

func TestTruncationForgetsEpochsAndProducers(t *testing.T) {
	r := newRig(t)
	for e := range int16(3) {
		b := records("p", 2, 1, batch.Options{Producer: &batch.Producer{ID: 7, Epoch: e, Sequence: 0}})
		_, err := r.AppendLeader(b, kafka.Epoch(10+e))
		must(t, err)
	}
	must(t, r.TruncateTo(4))
	if got, want := r.Epochs(), []EpochStart{{10, 0}, {11, 2}}; !reflect.DeepEqual(got, want) {
		t.Errorf("epochs are %v, want %v", got, want)
	}
	if p := r.Producers(); len(p) != 1 || p[0].Epoch != 1 || p[0].LastSequence != 1 {
		t.Errorf("producers are %+v, want epoch 1 sequence 1", p)
	}
}

// A leader that was replaced before it appended anything leaves an epoch without
// records, which no other replica knows of.
func TestTruncationToTheEndForgetsAnEpochWithoutRecords(t *testing.T) {
	r := newRig(t)
	_, err := r.AppendLeader(plain("a", 2), 3)
	must(t, err)
	must(t, r.BecomeLeader(5))
	must(t, r.TruncateTo(2))
	for range 2 {
		if got, want := r.Epochs(), []EpochStart{{3, 0}}; !reflect.DeepEqual(got, want) || r.End() != 2 {
			t.Errorf("epochs are %v, want %v; the log ends at %d", got, want, r.End())
		}
		r.reopen(false)
	}
}

func TestASliceKeepsItsBytesOverATruncation(t *testing.T) {
	for _, reopenable := range []bool{false, true} {
		r := newRig(t)
		r.append(plain("a", 1))
		r.append(plain("b", 1))
		s, err := r.Read(0, 1<<20, 2, true)
		must(t, err)
		before, err := s.AppendTo(nil)
		must(t, err)
		must(t, r.TruncateTo(1))
		r.append(plain("c", 1))
		if reopenable {
			must(t, r.CloseIdle())
		}
		after, err := s.AppendTo(nil)
		must(t, err)
		if string(after) != string(before) {
			t.Error("bytes that were being read changed under the reader")
		}
		s.Close()
		r.wants(0, "0=a-0 1=c-0")
		if n := r.opt.Files.Open(); n > 4 {
			t.Errorf("%d files are open", n)
		}
		r.reopen(false)
		r.wants(0, "0=a-0 1=c-0")
	}
}

func TestASliceKeepsItsBytesOverADeletion(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config.FileDeleteDelayMs = 0 })
	r.append(plain("a", 1))
	s, err := r.Read(0, 1<<20, 1, true)
	must(t, err)
	before, err := s.AppendTo(nil)
	must(t, err)
	must(t, r.TruncateFullyAndStartAt(100))
	if r.Start() != 100 || r.End() != 100 {
		t.Errorf("the log is [%d, %d), want [100, 100)", r.Start(), r.End())
	}
	after, err := s.AppendTo(nil)
	must(t, err)
	s.Close()
	if string(after) != string(before) {
		t.Error("bytes that were being read changed under the reader")
	}
	r.append(plain("b", 1))
	r.reopen(false)
	r.wants(100, "100=b-0")
}

func TestTheRecoveryPointFallsBeforeBytesGo(t *testing.T) {
	var told []kafka.Offset
	var r *rig
	r = newRig(t, func(o *Options) {
		o.BeforeTruncate = func(to kafka.Offset) error {
			told = append(told, to)
			if got := r.values(0); got != "0=a-0 1=b-0 2=c-0" {
				t.Errorf("asked too late: the log holds %q", got)
			}
			return nil
		}
	})
	for _, name := range []string{"a", "b", "c"} {
		r.append(plain(name, 1))
		if name == "b" {
			_, err := r.Sync()
			must(t, err)
		}
	}
	must(t, r.TruncateTo(1))
	if !reflect.DeepEqual(told, []kafka.Offset{1}) || r.RecoveryPoint() != 1 {
		t.Errorf("told %v, recovery point %d; want 1", told, r.RecoveryPoint())
	}
	r.append(plain("d", 2))
	must(t, r.TruncateTo(1)) // nothing synced is lost
	if len(told) != 1 {
		t.Errorf("told %v, want nothing new", told)
	}
}

func TestTheLogStartRisesAndStays(t *testing.T) {
	r := newRig(t)
	for e := range 3 {
		_, err := r.AppendLeader(plain("a", 2), kafka.Epoch(e))
		must(t, err)
	}
	must(t, r.SetStart(3))
	must(t, r.SetStart(1))
	if r.Start() != 3 {
		t.Errorf("start %d, want 3", r.Start())
	}
	if r.SetStart(7) == nil {
		t.Error("a start above the end was taken")
	}
	want := []EpochStart{{1, 3}, {2, 4}}
	for range 2 {
		if got := r.Epochs(); !reflect.DeepEqual(got, want) {
			t.Errorf("epochs are %v, want %v", got, want)
		}
		r.reopen(true)
	}
	if _, err := r.Read(2, 1, 6, true); err == nil {
		t.Error("what lies below the start is still read")
	}
}

// age is a retention in milliseconds that a test sets.
func withRetention(ms, bytes int64) func(*config.LogConfig) {
	return func(c *config.LogConfig) { c.RetentionMs, c.RetentionBytes = ms, bytes }
}

func TestRetention(t *testing.T) {
	one := int64(len(plain("0", 1)))
	f := func(change func(*config.LogConfig), hw, logStart, start kafka.Offset, segments int) {
		t.Helper()
		r := newRig(t, func(o *Options) { o.Config.SegmentBytes = int(one); change(&o.Config) })
		base := r.clock.now.UnixMilli()
		for i := range int64(5) {
			r.append(records("0", 1, base-1000*(5-i), batch.Options{})) // 5, 4, 3, 2, 1 seconds old
		}
		must(t, r.SetStart(logStart))
		_, err := r.DeleteOld(hw)
		must(t, err)
		if r.Start() != start || r.Segments() != segments || r.End() != 5 {
			t.Errorf("log [%d, %d) in %d segments, want start %d in %d", r.Start(), r.End(), r.Segments(), start, segments)
		}
		r.reopen(false)
		if r.Start() != start || r.Segments() != segments {
			t.Errorf("reopened: start %d in %d segments, want %d in %d", r.Start(), r.Segments(), start, segments)
		}
	}
	f(withRetention(-1, -1), 5, 0, 0, 5)
	f(withRetention(3500, -1), 5, 0, 2, 3)
	f(withRetention(3500, -1), 1, 0, 1, 4) // not above the high watermark
	f(withRetention(0, -1), 5, 0, 5, 1)    // the active one too: a new one is rolled
	f(withRetention(-1, 3*one), 5, 0, 2, 3)
	f(withRetention(-1, 3*one-1), 5, 0, 2, 3) // only while what is left is not below the limit
	f(withRetention(-1, 0), 5, 0, 5, 1)
	f(withRetention(-1, -1), 5, 2, 2, 3) // below the log start
	f(func(c *config.LogConfig) { c.RetentionMs, c.CleanupDelete = 0, false }, 5, 2, 2, 3)
}

func TestDeletedFilesGoAfterTheirDelay(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config.RetentionMs = 0 })
	r.append(plain("a", 1))
	r.clock.now = r.clock.now.Add(1e9)
	bytes, err := r.DeleteOld(1)
	must(t, err)
	if bytes != int64(len(plain("a", 1))) {
		t.Errorf("deleted %d bytes", bytes)
	}
	name := testDir + "/" + FileName(0, logSuffix+deletedSuffix)
	there := func(want bool) {
		t.Helper()
		must(t, r.Tick())
		if ok, err := vfs.Exists(r.disk, name); ok != want || err != nil {
			t.Errorf("%s is there: %v, want %v", name, ok, want)
		}
	}
	there(true)
	r.clock.now = r.clock.now.Add(60e9)
	there(false)
}

func TestAnEmptyActiveSegmentIsNeverDeleted(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config.RetentionMs = 0 })
	for range 3 {
		_, err := r.DeleteOld(0)
		must(t, err)
	}
	if r.Segments() != 1 || r.Start() != 0 {
		t.Errorf("%d segments from %d", r.Segments(), r.Start())
	}
}
