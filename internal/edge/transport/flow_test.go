package transport

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Rule: a second's worth passes at once, the rest at the rate; without a bound nobody
// waits, and a new bound counts for who waits already.
func TestFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		f := newFlow(0, closed)
		took := func(n int) time.Duration {
			began := time.Now()
			for range n {
				f.pass(context.Background())
			}
			return time.Since(began).Round(time.Millisecond)
		}
		want := func(n int, d time.Duration) {
			t.Helper()
			if got := took(n); got != d {
				t.Errorf("%d took %v, want %v", n, got, d)
			}
		}
		want(1000, 0)
		f.bound(10)
		want(10, 0)
		want(5, 500*time.Millisecond)
		time.Sleep(time.Minute)
		want(10, 0)
		want(1, 100*time.Millisecond)

		f.bound(1)
		want(1, time.Second)
		done := make(chan bool)
		go func() { done <- f.pass(context.Background()) }()
		synctest.Wait()
		f.bound(0)
		if !<-done {
			t.Error("who waits is turned away by a bound that is lifted")
		}
		f.bound(1)
		want(1, 0)
		go func() { done <- f.pass(context.Background()) }()
		synctest.Wait()
		close(closed)
		if <-done {
			t.Error("somebody passes after the end")
		}
	})
}

// Rule: an address may have as many connections as its own bound says, else as many as
// that of all addresses; a bound of its own may be higher.
func TestBoundsOfAnAddress(t *testing.T) {
	b := Bounds{PerIP: 2, Addresses: map[string]int{"127.0.0.1": 5, "127.0.0.2": 0}}
	f := func(host string, want int, bounded bool) {
		t.Helper()
		if n, is := b.ofAddress(host); n != want || is != bounded {
			t.Errorf("%s: %d, bounded %v; want %d, %v", host, n, is, want, bounded)
		}
	}
	f("127.0.0.1", 5, true)
	f("127.0.0.2", 0, true)
	f("127.0.0.3", 2, true)
	b.PerIP = 0
	f("127.0.0.3", 0, false)
	f("127.0.0.2", 0, true)
}

// Rule: a server that runs takes new bounds of single addresses and new rates, for all
// listeners, those of brokers excepted, and for one.
func TestServerTakesNewRates(t *testing.T) {
	s, addr := serve(t, Config{}, services{3: {Handler: echo}})
	s.SetBounds(Bounds{Addresses: map[string]int{"127.0.0.1": 0}})
	dial(t, addr).closed()
	name := s.listeners[0].Name()
	f := func(b Bounds, server, listener float64, rated bool) {
		t.Helper()
		s.SetBounds(b)
		if l := s.listeners[0]; l.flow.rate != listener || s.flow.rate != server || l.rated.Load() != rated {
			t.Errorf("%+v: the listener's rate is %v, that of all %v, which counts: %v", b, l.flow.rate, s.flow.rate, l.rated.Load())
		}
	}
	f(Bounds{Rate: 7}, 7, 0, true)
	f(Bounds{Rates: map[string]int{name: 3}}, 0, 3, true)
	f(Bounds{Rate: 7, Unrated: name, Rates: map[string]int{name: 3}}, 7, 3, false)
	first := dial(t, addr)
	first.send(1, about("t"))
	first.receive()
}
