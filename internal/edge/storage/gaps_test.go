package storage

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// gapped is a folder of four segments with two batches each. The second has lost
// its second batch, as Apache Kafka's cleaner leaves it, or a loss of power.
func gapped(t *testing.T) *rig {
	r := newRig(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		r.append(plain(name, 1))
		r.append(plain(name, 1))
		must(t, r.Roll())
	}
	must(t, r.Close(true))
	r.edit(2, func(f vfs.File, size int64) error { return f.Truncate(size / 2) })
	return r
}

func (r *rig) edit(base kafka.Offset, change func(f vfs.File, size int64) error) {
	r.t.Helper()
	f, err := r.disk.OpenFile(testDir+"/"+FileName(base, logSuffix), os.O_RDWR, 0)
	must(r.t, err)
	size, err := f.Size()
	must(r.t, err)
	must(r.t, change(f, size))
	must(r.t, f.Sync())
	must(r.t, f.Close())
}

func TestAGapIsALossOnlyWhereNothingElseExplainsIt(t *testing.T) {
	f := func(story, want string, change func(*Options)) {
		t.Helper()
		r := gapped(t)
		change(&r.opt)
		r.open()
		if got := r.values(0); got != want {
			t.Errorf("%s: the log holds %q, want %q", story, got, want)
		}
	}
	const kept, cut = "0=a-0 1=a-0 2=b-0 4=c-0 5=c-0 6=d-0 7=d-0", "0=a-0 1=a-0 2=b-0"
	f("a loss of power above what was synced", cut, func(o *Options) { o.Gapless, o.RecoveryPoint = true, 2 })
	f("below the recovery point", kept, func(o *Options) { o.Gapless, o.RecoveryPoint = true, 4 })
	f("compacted there, with a damaged recovery point", kept, func(o *Options) { o.Gapless, o.Cleaned = true, 4 })
	f("compacted below it", cut, func(o *Options) { o.Gapless, o.Cleaned = true, 2 })
	f("the folder of a killed Apache Kafka", kept, func(o *Options) {})
	f("a kill", kept, func(o *Options) { o.Gapless, o.SameBoot = true, true })
	f("a clean stop", kept, func(o *Options) { o.Gapless, o.Clean = true, true })
}

// Damage behind a gap that was synced costs what follows the damage.
func TestValidatingTheWholeLogKeepsSyncedGaps(t *testing.T) {
	r := gapped(t)
	for base := range kafka.Offset(9) {
		_ = r.disk.Remove(testDir + "/" + FileName(base, snapshotSuffix)) // most are not there
	}
	r.edit(4, func(f vfs.File, size int64) error {
		_, err := f.WriteAt([]byte{0xff}, size/2+16) // the magic byte of its second batch
		return err
	})
	r.opt.Gapless, r.opt.RecoveryPoint = true, 8
	r.open()
	r.wants(0, "0=a-0 1=a-0 2=b-0 4=c-0")
}

// So recovery never has to tell a gap of ours from a loss.
func TestCompactedSegmentsReachToTheNext(t *testing.T) {
	r := compacted(t, func(o *Options) { o.Config.SegmentBytes = 300 })
	value := strings.Repeat("x", 60)
	for i := range 12 {
		r.put(batch.Options{}, fmt.Sprintf("only%d=%s", i, value))
		r.put(batch.Options{}, "k="+value)
		must(t, r.Roll())
	}
	for round := range 3 {
		r.compact(0)
		if r.Segments() < 4 {
			t.Fatalf("%d segments are too few to tell", r.Segments())
		}
		for i, s := range r.segments[1:] {
			end := r.segments[i].base
			_, err := r.segments[i].scan(0, r.segments[i].size, false, func(h batch.Header, _ int64, _ []byte) bool {
				end = h.End()
				return true
			})
			must(t, err)
			if end != s.base {
				t.Errorf("round %d: a segment ends at %d, the next begins at %d", round, end, s.base)
			}
		}
		checkDerived(t, r.Log)
	}
	want := r.pairs()
	r.opt.Gapless, r.opt.RecoveryPoint = true, 0 // a damaged checkpoint
	must(t, r.Close(true))
	r.open()
	r.holds(want)
}
