package await

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Deadlines fire at their time, in their order, whatever the order they were
// started in; stopped ones do not.
func TestDeadlinesFireInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := NewTimers()
		begin := time.Now()
		rng := rand.New(rand.NewPCG(1, 2))
		var fired []int
		deadlines := make([]Deadline, 200)
		stopped := map[int]bool{}
		for _, i := range rng.Perm(len(deadlines)) {
			after := time.Duration(i+1) * time.Millisecond
			timers.Start(&deadlines[i], after, func() {
				if time.Since(begin) != after {
					t.Errorf("deadline of %v fired after %v", after, time.Since(begin))
				}
				fired = append(fired, i)
			})
		}
		for _, i := range rng.Perm(len(deadlines))[:70] {
			stopped[i] = timers.Stop(&deadlines[i])
			if !stopped[i] || timers.Stop(&deadlines[i]) {
				t.Errorf("stop of %d", i)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		at := 0
		for i := range deadlines {
			if stopped[i] {
				continue
			}
			if at >= len(fired) || fired[at] != i {
				t.Fatalf("fired %v", fired)
			}
			at++
		}
		if at != len(fired) || timers.Len() != 0 {
			t.Errorf("%d fired, %d left", len(fired), timers.Len())
		}
		timers.Close()
	})
}

// A later start moves the deadline; an earlier one wakes the sleeper.
func TestDeadlineMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := NewTimers()
		begin := time.Now()
		fired := make(chan time.Duration, 2)
		tell := func() { fired <- time.Since(begin) }
		var d, sooner Deadline
		timers.Start(&d, time.Minute, tell)
		timers.Start(&d, time.Hour, tell)
		synctest.Wait()
		timers.Start(&sooner, time.Second, tell)
		if first := <-fired; first != time.Second {
			t.Errorf("first after %v", first)
		}
		if second := <-fired; second != time.Hour {
			t.Errorf("second after %v", second)
		}
		timers.Start(&d, time.Second, tell) // again, with the goroutine gone
		<-fired
		timers.Start(&d, time.Second, tell)
		timers.Close()
		timers.Start(&d, 0, tell)
		time.Sleep(time.Minute)
		if len(fired) > 0 {
			t.Error("fired after Close")
		}
	})
}

// A waiter that is put into its lists before Start misses nothing, and finishes
// once however many ways it could.
func TestParkedFinishesOnce(t *testing.T) {
	f := func(name string, want string, steps func(p *Parked, ready *bool)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				timers := NewTimers()
				var p Parked
				ready, ends := false, []Outcome{}
				p.Init(timers, func() bool { return ready }, func(o Outcome) { ends = append(ends, o) })
				steps(&p, &ready)
				time.Sleep(time.Minute)
				synctest.Wait()
				p.Poke()
				p.Cancel()
				if got := fmt.Sprint(ends); got != want || !p.Finished() || timers.Len() != 0 {
					t.Errorf("ended %s, want %s; %d deadlines left", got, want, timers.Len())
				}
				timers.Close()
			})
		})
	}
	f("ready before start", "[1]", func(p *Parked, ready *bool) { *ready = true; p.Start(time.Second) })
	f("poked when ready", "[1]", func(p *Parked, ready *bool) { p.Start(time.Second); p.Poke(); *ready = true; p.Poke() })
	f("expired", "[2]", func(p *Parked, _ *bool) { p.Start(time.Second); p.Poke() })
	f("cancelled", "[3]", func(p *Parked, _ *bool) { p.Start(time.Second); p.Cancel() })
	f("no time at all", "[2]", func(p *Parked, _ *bool) { p.Start(0) })
}

// Pokes, the deadline and a cancel come from everywhere at once: try and finish
// never overlap, no poke is lost, and it ends once.
func TestParkedUnderContention(t *testing.T) {
	timers := NewTimers()
	defer timers.Close()
	for round := range 300 {
		var p Parked
		var inside, value sync.Mutex
		count, ends := 0, make(chan Outcome, 8)
		alone := func() func() {
			if !inside.TryLock() {
				t.Error("try and finish overlap")
				return func() {}
			}
			return inside.Unlock
		}
		p.Init(timers,
			func() bool { defer alone()(); value.Lock(); defer value.Unlock(); return count == 4 },
			func(o Outcome) { defer alone()(); ends <- o })
		p.Start(time.Hour)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				value.Lock()
				count++
				value.Unlock()
				p.Poke()
			})
		}
		if round%3 == 0 {
			all.Go(p.Cancel)
		}
		all.Wait()
		// With no cancel, the last poke saw count == 4, or whoever tried did.
		if first := <-ends; round%3 != 0 && first != Satisfied || len(ends) != 0 {
			t.Fatalf("round %d: ended %v and %d times more", round, first, len(ends))
		}
	}
}

func TestListDropsWhatHasFinished(t *testing.T) {
	timers := NewTimers()
	defer timers.Close()
	var list List
	parked := make([]Parked, 5)
	watches := make([]Watch, 5)
	for i := range parked {
		parked[i].Init(timers, func() bool { return false }, func(Outcome) {})
		watches[i].Parked = &parked[i]
		list.Add(&watches[i])
	}
	list.Remove(&watches[4]) // the first in the list
	list.Remove(&watches[0]) // the last
	list.Remove(&watches[0])
	parked[2].Cancel()
	woken := list.AppendTo(nil)
	if len(woken) != 2 || woken[0] != &parked[3] || woken[1] != &parked[1] || list.Len() != 2 {
		t.Errorf("woke %d, %d left", len(woken), list.Len())
	}
	var other List
	other.Add(&watches[1]) // moves it
	list.Remove(&watches[3])
	if !list.Empty() || other.Len() != 1 {
		t.Errorf("%d and %d watches", list.Len(), other.Len())
	}
}

// Parking, firing and finishing allocate nothing beyond what the caller made.
func TestParkingAllocatesNothing(t *testing.T) {
	w := newWaiter()
	defer w.timers.Close()
	w.cycle()
	if n := testing.AllocsPerRun(1000, w.cycle); n > 1 { // the method value of expire
		t.Errorf("%v allocations", n)
	}
}

type waiter struct {
	timers *Timers
	keep   Deadline // keeps the goroutine
	list   List
	woken  []*Parked
	p      Parked
	watch  Watch
	ready  bool
	ended  int
	try    func() bool
	finish func(Outcome)
}

func newWaiter() *waiter {
	w := &waiter{timers: NewTimers()}
	w.try = func() bool { return w.ready }
	w.finish = func(Outcome) { w.ended++ }
	w.timers.Start(&w.keep, time.Hour, func() {})
	return w
}

func (w *waiter) cycle() {
	w.p, w.watch, w.ready = Parked{}, Watch{Parked: &w.p}, false
	w.p.Init(w.timers, w.try, w.finish)
	w.list.Add(&w.watch)
	w.p.Start(time.Minute)
	w.ready = true
	w.woken = w.list.AppendTo(w.woken[:0])
	w.list.Remove(&w.watch)
	for _, p := range w.woken {
		p.Poke()
	}
}

func BenchmarkPark(b *testing.B) {
	w := newWaiter()
	defer w.timers.Close()
	b.ReportAllocs()
	for b.Loop() {
		w.cycle()
	}
}

// BenchmarkTimers is one start and stop beside 10,000 others.
func BenchmarkTimers(b *testing.B) {
	timers := NewTimers()
	defer timers.Close()
	others := make([]Deadline, 10_000)
	for i := range others {
		timers.Start(&others[i], time.Hour+time.Duration(i), func() {})
	}
	var d Deadline
	b.ReportAllocs()
	for b.Loop() {
		timers.Start(&d, time.Minute, func() {})
		timers.Stop(&d)
	}
}
