package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestAHeapGrowsByTheSpareUntilItIsAsLarge(t *testing.T) {
	const mib = 1 << 20
	f := func(scanned uint64, want int) {
		t.Helper()
		if got := gcPercent(scanned); got != want {
			t.Errorf("%d bytes grow by %d %%, want %d", scanned, got, want)
		}
	}
	f(0, 800)
	f(4*mib, 800)
	f(8*mib, 400)
	f(16*mib, 200)
	f(32*mib, 100)
	f(900*mib, 100)
}

// kept keeps the test's heap alive.
var kept []byte

func TestThePaceFollowsTheLiveHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	defer func() { debug.SetGCPercent(before); kept = nil }()
	defer tendHeap()()
	percent := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	if got := percent(); got != mostPercent {
		t.Fatalf("it begins at %d %%", got)
	}
	kept = make([]byte, 2*spareHeap)
	collectUntil(t, "the pace is Go's own", func() bool { return percent() == leastPercent })
	kept = nil
	collectUntil(t, "the pace is slower again", func() bool { return percent() > leastPercent })
}

// A pace that was stopped sets nothing any more, however often Go collects.
func TestAPaceEnds(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	defer func() { debug.SetGCPercent(before); kept = nil }()
	tendHeap()()
	debug.SetGCPercent(mostPercent)
	kept = make([]byte, 2*spareHeap)
	for range 3 { // collections, and the finalizers of each
		ran := make(chan struct{})
		runtime.SetFinalizer(&pace{}, func(*pace) { close(ran) })
		collectUntil(t, "a finalizer runs", func() bool {
			select {
			case <-ran:
				return true
			default:
				return false
			}
		})
	}
	if now := debug.SetGCPercent(100); now != mostPercent {
		t.Errorf("it was set to %d %%", now)
	}
}

// collectUntil collects until something holds; finalizers run some time after a
// collection.
func collectUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("not so after a minute: %s", what)
		}
	}
}

func TestAPaceOfTheEnvironmentStays(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := debug.SetGCPercent(50)
	defer debug.SetGCPercent(before)
	defer tendHeap()()
	if now := debug.SetGCPercent(50); now != 50 {
		t.Errorf("it is %d %%", now)
	}
}
