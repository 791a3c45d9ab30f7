package transport

// Bounds are how many connections there may be. The zero value bounds nothing.
type Bounds struct {
	Connections int            // max.connections; <= 0: no bound
	PerIP       int            // max.connections.per.ip; <= 0: no bound
	Listeners   map[string]int // listener.name.<l>.max.connections by listener name; <= 0 or none: no bound
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
	for _, l := range s.listeners {
		l.gate.bound(b.Listeners[l.cfg.Name])
	}
}
