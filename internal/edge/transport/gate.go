package transport

import "context"

// gate bounds how many are inside. When it is full, an acceptor waits: new
// connections queue up in the kernel, as with Kafka's max.connections.
type gate struct {
	places chan struct{} // nil: no bound
	closed chan struct{}
}

func newGate(limit int) gate {
	g := gate{closed: make(chan struct{})}
	if limit > 0 {
		g.places = make(chan struct{}, limit)
	}
	return g
}

// enter waits for a place; false when there will be none any more.
func (g *gate) enter(ctx context.Context) bool {
	if g.places == nil {
		return ctx.Err() == nil
	}
	select {
	case g.places <- struct{}{}:
		return true
	case <-g.closed:
	case <-ctx.Done():
	}
	return false
}

func (g *gate) leave() {
	if g.places != nil {
		<-g.places
	}
}

// close turns away who waits.
func (g *gate) close() { close(g.closed) }
