package transport

import (
	"context"
	"testing"
	"testing/synctest"
)

// Rule: a bound that is raised lets in who waits; one that is lowered turns
// nobody out, and lets nobody in before there is room below it.
func TestGateFollowsItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, entered := newGate(1), 0
		knock := func() {
			go func() {
				if g.enter(context.Background()) {
					entered++
				}
			}()
			synctest.Wait()
		}
		want := func(n int) {
			t.Helper()
			if synctest.Wait(); entered != n {
				t.Fatalf("%d are in, want %d", entered, n)
			}
		}
		knock()
		knock()
		want(1)
		g.bound(2)
		want(2)
		g.bound(1)
		knock()
		g.leave()
		want(2)
		g.leave()
		want(3)
		knock()
		g.bound(0)
		want(4)
		g.bound(1)
		knock()
		g.close()
		want(4)
	})
}

// Rule: a server that runs takes new bounds for an address and for a listener.
func TestServerTakesNewBounds(t *testing.T) {
	s, addr := serve(t, Config{}, services{3: {Handler: echo}})
	first := dial(t, addr)
	first.send(1, about("t"))
	first.receive()
	s.SetBounds(Bounds{PerIP: 1})
	dial(t, addr).closed()

	name := s.listeners[0].Name()
	s.SetBounds(Bounds{Listeners: map[string]int{name: 1}})
	if l := s.listeners[0]; l.gate.limit != 1 || s.gate.limit != 0 {
		t.Errorf("listener's bound %d, server's %d", l.gate.limit, s.gate.limit)
	}
}
