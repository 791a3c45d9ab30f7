package dirs

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/edge/storage"
)

// living runs the periodic work of a node by these settings, within a bubble.
func living(t *testing.T, n *node, at Live) (stop func()) {
	t.Helper()
	must(t, n.claim())
	d, err := Load(n.claimed, Options{Config: testConfig(), Compact: true, Live: at})
	must(t, err)
	n.Dirs = d
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); n.Run(ctx, n) }()
	return func() { cancel(); <-done; n.Close(true, 1, n) }
}

// dirty has a log that wants to be compacted.
func (n *node) dirty(topic string) *storage.Log {
	n.t.Helper()
	l := n.compacted(topic)
	n.append(l, "1", "2")
	must(n.t, l.Roll())
	return l
}

func unpacedLive() Live {
	return Live{Cleaners: 1, CleanEvery: 15 * time.Second, KeyBytes: 1 << 20, CleanRate: math.MaxFloat64}
}

// Rule: log.cleaner.backoff.ms counts at once, also for a cleaner that rests.
func TestTheBackoffOfCleanersFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := formatted(t)
		at := unpacedLive()
		at.CleanEvery = time.Hour
		stop := living(t, n, at)
		defer stop()
		l := n.dirty("a")
		time.Sleep(time.Minute)
		synctest.Wait()
		if to := n.cleanedTo(l); to != 0 {
			t.Fatalf("cleaned to %d within the backoff", to)
		}
		at.CleanEvery = time.Minute
		n.SetLive(at)
		synctest.Wait()
		if to := n.cleanedTo(l); to != 2 {
			t.Errorf("cleaned to %d once the backoff is over, want 2", to)
		}
	})
}

// Rule: log.cleaner.threads counts at once; without any nothing is compacted.
func TestTheNumberOfCleanersFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := formatted(t)
		at := unpacedLive()
		at.Cleaners = 0
		stop := living(t, n, at)
		defer stop()
		l := n.dirty("a")
		time.Sleep(time.Hour)
		synctest.Wait()
		if to := n.cleanedTo(l); to != 0 {
			t.Fatalf("cleaned to %d by nobody", to)
		}
		at.Cleaners = 2
		n.SetLive(at)
		time.Sleep(at.CleanEvery)
		synctest.Wait()
		if to := n.cleanedTo(l); to != 2 {
			t.Errorf("cleaned to %d, want 2", to)
		}
	})
}

// Rule: a log is compacted by one cleaner at a time.
func TestCleanersTakeDifferentLogs(t *testing.T) {
	n := formatted(t)
	n.start()
	a, b := n.dirty("a"), n.dirty("b")
	c := newCleaning(n.Dirs, n)
	first, ok := c.choose()
	second, ok2 := c.choose()
	if !ok || !ok2 || first.log == second.log {
		t.Fatalf("the choices are %v and %v", first.log, second.log)
	}
	if _, ok := c.choose(); ok {
		t.Error("a log is taken twice")
	}
	c.release(first.log)
	if third, ok := c.choose(); !ok || third.log != first.log || third.log != a && third.log != b {
		t.Error("a log that was given back is not taken again")
	}
}

// Rule: log.cleaner.io.max.bytes.per.second holds all cleaners back, and counts at
// once for one that waits; a stop waits for none of that.
func TestTheRateOfCleanersFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := formatted(t)
		at := unpacedLive()
		at.CleanRate = 0
		stop := living(t, n, at)
		l := n.dirty("a")
		time.Sleep(time.Hour)
		synctest.Wait()
		if to := n.cleanedTo(l); to != 0 {
			t.Fatalf("cleaned to %d at a rate of 0", to)
		}
		at.CleanRate = 1e6
		n.SetLive(at)
		synctest.Wait()
		if to := n.cleanedTo(l); to != 2 {
			t.Errorf("cleaned to %d, want 2", to)
		}
		at.CleanRate = 0
		n.SetLive(at)
		n.dirty("b")
		time.Sleep(time.Minute)
		stopped := time.Now()
		stop()
		if took := time.Since(stopped); took > 0 {
			t.Errorf("a stop waited for %v", took)
		}
	})
}

// Rule: over a while no more than the rate is let through.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		var settings live
		settings.set(Live{CleanRate: 1000})
		began := time.Now()
		for range 100 {
			must(t, p.wait(t.Context(), &settings, 100))
		}
		if took := time.Since(began); took < 9*time.Second || took > 10*time.Second {
			t.Errorf("10,000 bytes at 1,000 a second took %v", took)
		}
		settings.set(Live{CleanRate: math.Inf(1)})
		must(t, p.wait(t.Context(), &settings, 1<<30))
		settings.set(Live{CleanRate: 1000})
		began = time.Now()
		for range 10 {
			must(t, p.wait(t.Context(), &settings, 1000))
		}
		if took := time.Since(began); took < 8*time.Second || took > 10*time.Second {
			t.Errorf("after a time without a bound, 10,000 bytes at 1,000 a second took %v", took)
		}
	})
}

// Rule: producer.id.expiration.ms counts at the next look.
func TestTheExpiryOfProducersFollows(t *testing.T) {
	n := formatted(t)
	n.start()
	n.SetLive(Live{ProducerExpiry: time.Hour})
	if at, _ := n.live.now(); at.ProducerExpiry != time.Hour {
		t.Fatalf("expiry %v", at.ProducerExpiry)
	}
	l := n.create("a", 0, ids[1])
	b := batch.NewBuilder(batch.Options{Producer: &batch.Producer{ID: 7}})
	b.Add(n.clock.UnixMilli(), []byte("k"), []byte("v"))
	_, err := l.AppendLeader(b.Build(nil), 1)
	must(t, err)
	n.clock = n.clock.Add(2 * time.Hour)
	n.SetLive(Live{})
	n.upkeep().expireProducers()
	if len(l.Producers()) != 1 {
		t.Fatal("a producer was forgotten that is remembered for ever")
	}
	n.SetLive(Live{ProducerExpiry: time.Hour})
	n.upkeep().expireProducers()
	if len(l.Producers()) != 0 {
		t.Error("a producer is remembered after producer.id.expiration.ms")
	}
}
