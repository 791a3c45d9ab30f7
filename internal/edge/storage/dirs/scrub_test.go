package dirs

import (
	"context"
	"errors"
	"math"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

// elsewhere is another replica's log of one segment, or why it can't be asked.
type elsewhere struct {
	holds []byte
	err   error
	asked int
}

func (e *elsewhere) Fetch(context.Context, kafka.TopicPartition, kafka.Offset, kafka.Offset) ([]byte, error) {
	e.asked++
	return e.holds, e.err
}

// cold makes a log with a segment of three batches that is no longer appended to, and
// gives its bytes.
func (n *node) cold(topic string) (*storage.Log, []byte) {
	n.t.Helper()
	l := n.create(topic, 0, ids[1])
	n.append(l, "1", "2", "3")
	must(n.t, l.Roll())
	n.append(l, "4")
	return l, n.segment(topic)
}

func (n *node) segment(topic string) []byte {
	n.t.Helper()
	f, err := n.disk.OpenFile("/d2/"+topic+"-0/"+storage.FileName(0, ".log"), os.O_RDWR, 0)
	must(n.t, err)
	size, err := f.Size()
	must(n.t, err)
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	must(n.t, err)
	must(n.t, f.Close())
	return b
}

// rot changes one byte of the first segment.
func (n *node) rot(topic string, pos int64) {
	n.t.Helper()
	b := n.segment(topic)
	f, err := n.disk.OpenFile("/d2/"+topic+"-0/"+storage.FileName(0, ".log"), os.O_RDWR, 0)
	must(n.t, err)
	_, err = f.WriteAt([]byte{b[pos] ^ 4}, pos)
	must(n.t, err)
	must(n.t, f.Close())
}

// scrubber looks for damage in d2 as fast as it can.
func (n *node) scrubber(m Mender) *scrubbing {
	live, _ := n.live.now()
	live.ScrubRate, live.ScrubEvery = math.MaxFloat64, time.Hour
	n.SetLive(live)
	return n.Dirs.scrubber(1, m)
}

func (n *node) damage(what string, found, mended, left float64) {
	n.t.Helper()
	s := &n.figures.scrubs[1]
	if s.found.Value() != found || s.mended.Value() != mended || s.left.Value() != left {
		n.t.Errorf("%s: %v places found, %v mended, %v left", what, s.found.Value(), s.mended.Value(), s.left.Value())
	}
}

func TestDamageIsMendedFromElsewhere(t *testing.T) {
	n := formatted(t)
	n.start()
	_, whole := n.cold("a")
	n.cold("b")
	n.rot("a", 100)
	other := &elsewhere{holds: whole}
	s := n.scrubber(other)
	s.round(t.Context(), true)
	n.damage("at first", 1, 1, 0)
	if got := n.segment("a"); string(got) != string(whole) {
		t.Error("the segment is not what it was")
	}
	s.round(t.Context(), false)
	n.damage("once more", 1, 1, 0)
	if other.asked != 1 {
		t.Errorf("another replica was asked %d times", other.asked)
	}
	n.Close(true, 1, n)
	n.start()
	n.wants("a-0@d2:4/4 b-0@d2:4/4")
}

// What nobody else has stays as it is and is told, until the log is gone or mended.
func TestDamageThatNobodyCanMendIsTold(t *testing.T) {
	n := formatted(t)
	n.start()
	l, whole := n.cold("a")
	n.rot("a", 100)
	rotten := n.segment("a")
	other := &elsewhere{err: errors.New("nobody there")}
	s := n.scrubber(other)
	s.round(t.Context(), false)
	n.damage("nobody there", 1, 0, 1)
	other.err, other.holds = nil, rotten
	s.round(t.Context(), false)
	n.damage("damaged there, too", 2, 0, 1)
	if string(n.segment("a")) != string(rotten) || n.directories()[1].offline() != nil {
		t.Error("something was done all the same")
	}
	other.holds = whole
	s.round(t.Context(), false)
	n.damage("mended at last", 3, 1, 0)
	n.rot("a", 100)
	other.holds = nil
	s.round(t.Context(), false)
	n.damage("again", 4, 1, 1)
	must(t, n.Delete(l))
	s.round(t.Context(), false)
	n.damage("the log is gone", 4, 1, 0)
}

func TestADiskThatCannotBeReadIsFoundByLooking(t *testing.T) {
	n := formatted(t)
	n.start()
	n.cold("a")
	n.fault.Inject(vfs.Rule{Ops: vfs.OpRead, Path: "a-0", Err: vfs.ErrIO})
	n.scrubber(&elsewhere{}).round(t.Context(), true)
	if id := <-n.failed; id != ids[1] {
		t.Errorf("told of %s, want d2", id)
	}
}

// It reads at its rate, all segments once in an interval, and not at all with a rate
// of 0.
func TestLookingForDamageKeepsToItsRateAndInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := formatted(t)
		n.start()
		l := n.create("a", 0, ids[1])
		for range 10 {
			n.append(l, string(make([]byte, 1000)))
		}
		must(t, l.Roll())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			n.Dirs.Scrub(ctx, &elsewhere{})
		}()
		reads := func(rate float64, after time.Duration, least, most float64) {
			t.Helper()
			live, _ := n.live.now()
			live.ScrubRate, live.ScrubEvery = rate, time.Hour
			n.SetLive(live)
			before := n.figures.scrubs[1].read.Value()
			time.Sleep(after)
			synctest.Wait()
			if got := n.figures.scrubs[1].read.Value() - before; got < least || got > most {
				t.Errorf("at %v bytes a second %v were read in %v", rate, got, after)
			}
		}
		reads(0, 2*time.Hour, 0, 1100)
		reads(1000, 5*time.Second, 3000, 8000)
		reads(1000, 30*time.Minute, 3000, 9000) // the rest of them, once
		reads(1000, time.Hour, 10_000, 12_000)
		reads(0, time.Hour, 0, 0)
		stop()
		<-done
	})
}
