package transport

import (
	"context"
	"sync"
)

// gate bounds how many are inside. When it is full, an acceptor waits: new
// connections queue up in the kernel, as with Kafka's max.connections.
type gate struct {
	mu     sync.Mutex
	limit  int           // <= 0: no bound
	inside int           // may be above a limit that was lowered
	room   chan struct{} // closed when who waits should look again; nil: nobody waits
	closed chan struct{}
}

func newGate(limit int) *gate { return &gate{limit: limit, closed: make(chan struct{})} }

// enter waits for a place; false when there will be none any more.
func (g *gate) enter(ctx context.Context) bool {
	for {
		room, entered := g.try()
		if entered {
			return true
		}
		select {
		case <-room:
		case <-g.closed:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// try takes a place, or gives what to wait for.
func (g *gate) try() (room <-chan struct{}, entered bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limit <= 0 || g.inside < g.limit {
		g.inside++
		return nil, true
	}
	if g.room == nil {
		g.room = make(chan struct{})
	}
	return g.room, false
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.wake()
}

// bound changes the limit. Who is inside stays.
func (g *gate) bound(limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = limit
	g.wake()
}

func (g *gate) wake() {
	if g.room != nil {
		close(g.room)
		g.room = nil
	}
}

// close turns away who waits.
func (g *gate) close() { close(g.closed) }
