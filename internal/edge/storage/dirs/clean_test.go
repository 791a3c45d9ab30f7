package dirs

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/edge/storage"
)

func (n *node) compacted(topic string) *storage.Log {
	n.t.Helper()
	c := testConfig()
	c.CleanupDelete, c.CleanupCompact = false, true
	l := n.create(topic, 0, ids[1])
	l.SetConfig(c)
	return l
}

func TestTheDirtiestLogIsCompactedFirst(t *testing.T) {
	n := formatted(t)
	n.start()
	a, b := n.compacted("a"), n.compacted("b")
	n.append(a, "1", "2")
	must(t, a.Roll())
	n.append(b, "1", "2", "3")
	must(t, b.Roll())
	n.append(n.create("c", 0, ids[1]), "1") // not a compacted topic
	for range 2 {
		if !newCleaning(n.Dirs, n).once(t.Context()) {
			t.Fatal("nothing was cleaned")
		}
	}
	if newCleaning(n.Dirs, n).once(t.Context()) {
		t.Error("a clean log was cleaned again")
	}
	if x, y := n.cleanedTo(a), n.cleanedTo(b); x != 2 || y != 3 {
		t.Errorf("cleaned to %d and %d, want 2 and 3", x, y)
	}
	one := b.Size()
	n.append(b, "4")
	must(t, b.Roll())
	n.crash()
	if got := n.Loaded()[1]; got.Log.End() != 3 && got.Log.End() != 4 || n.cleanedTo(got.Log) != 3 || got.Log.Size() < one {
		t.Errorf("after a crash %s ends at %d with %d bytes, cleaned to %d", got.Name.Topic, got.Log.End(), got.Log.Size(), n.cleanedTo(got.Log))
	}
}

func TestAFailureOfTheCleanerTakesTheDirectoryOffline(t *testing.T) {
	n := formatted(t)
	n.start()
	a := n.compacted("a")
	n.append(a, "1", "2")
	must(t, a.Roll())
	n.fault.Inject(noSpaceFor(".cleaned"))
	if newCleaning(n.Dirs, n).once(t.Context()) {
		t.Error("a failed compaction counts as done")
	}
	if id := <-n.failed; id != ids[1] {
		t.Errorf("told of %s, want d2", id)
	}
}

// The periodic work runs by the clock and ends with its context.
func TestRunWorksByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := formatted(t)
		must(t, n.claim())
		d, err := Load(n.claimed, Options{Config: testConfig(), Every: Intervals{
			HighWatermarks: 5 * time.Second, RecoveryPoints: time.Minute, LogStarts: time.Minute,
			Retention: 5 * time.Minute, FirstRetention: 30 * time.Second, Tick: time.Second,
		}, Compact: true, Live: Live{Cleaners: 1, CleanEvery: 15 * time.Second, KeyBytes: 1 << 20, CleanRate: math.MaxFloat64}})
		must(t, err)
		n.Dirs = d
		l := n.create("a", 0, ids[1])
		n.append(l, "1")
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); n.Run(ctx, n) }()
		written := func(file string) kafka.Offset {
			t.Helper()
			o, err := storage.ReadOffsets(n.disk, "/d2/"+file)
			must(t, err)
			return o[l.TP()]
		}
		time.Sleep(4900 * time.Millisecond)
		synctest.Wait()
		if hw := written(HighWatermarkFile); hw != 0 {
			t.Errorf("high watermark %d is written too early", hw)
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if hw := written(HighWatermarkFile); hw != 1 {
			t.Errorf("high watermark %d after 5 s, want 1", hw)
		}
		_, err = l.Sync()
		must(t, err)
		time.Sleep(time.Minute)
		synctest.Wait()
		if p := written(RecoveryPointFile); p != 1 {
			t.Errorf("recovery point %d after a minute, want 1", p)
		}
		stop()
		<-done
		n.Close(true, 1, n)
	})
}
