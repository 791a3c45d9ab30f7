package transport

// Bounds are how many connections there may be, and how many may come in a second. The
// zero value bounds nothing.
type Bounds struct {
	Connections int            // max.connections; <= 0: no bound
	PerIP       int            // max.connections.per.ip; <= 0: no bound
	Addresses   map[string]int // max.connections.per.ip.overrides: bounds of single addresses, in place of PerIP
	Listeners   map[string]int // listener.name.<l>.max.connections by listener name; <= 0 or none: no bound
	Rate        int            // max.connection.creation.rate; <= 0: no bound
	Unrated     string         // the listener that Rate does not count for, if any
	Rates       map[string]int // listener.name.<l>.max.connection.creation.rate by listener name; <= 0 or none: no bound
}

// ofAddress is how many connections an address may have; false: any number.
func (b *Bounds) ofAddress(host string) (int, bool) {
	if n, own := b.Addresses[host]; own {
		return n, true
	}
	return b.PerIP, b.PerIP > 0
}

// Bounds are the bounds of the server as they are now.
func (s *Server) Bounds() Bounds {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bounds
}

// SetBounds changes the bounds of a server that runs. Connections that are open
// stay, even where they are more than there may be now.
func (s *Server) SetBounds(b Bounds) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bounds = b
	s.gate.bound(b.Connections)
	s.flow.bound(b.Rate)
	for _, l := range s.listeners {
		l.obey(b)
	}
}

// obey takes the bounds that concern a listener. Server.mu is held.
func (l *Listener) obey(b Bounds) {
	l.gate.bound(b.Listeners[l.cfg.Name])
	l.flow.bound(b.Rates[l.cfg.Name])
	l.rated.Store(l.cfg.Name != b.Unrated)
}
