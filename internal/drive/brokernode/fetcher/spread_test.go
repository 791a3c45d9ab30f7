package fetcher

import (
	"testing"
	"testing/synctest"
	"time"
)

// Rule: num.replica.fetchers counts at once. With more, replicas move to connections of
// their own and go on from where they stand; with fewer, they come back together, and
// connections that nobody needs are closed.
func TestTheNumberOfConnectionsFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.fetcher.cfg.Connect = func(string) Conn { return p.conn() } // each has a session of its own
		p.topic("t", 4)
		f := func(sources, want int, end int64) {
			t.Helper()
			p.fetcher.SetSources(sources)
			for n := range 4 {
				p.write("t", n, 1)
			}
			time.Sleep(soon)
			for n := range 4 {
				if at := p.follower.Find("t", n).Status().LogEnd; int64(at) != end {
					t.Errorf("with %d: t-%d ends at %d, want %d", sources, n, at, end)
				}
			}
			p.fetcher.mu.Lock()
			defer p.fetcher.mu.Unlock()
			if got := len(p.fetcher.sources); got != want {
				t.Errorf("with %d: %d connections, want %d", sources, got, want)
			}
		}
		f(1, 1, 1)
		f(2, 2, 2)
		f(4, 4, 3)
		f(0, 1, 4) // never none
	})
}
