package transport

import (
	"context"
	"net"
	"testing"
)

// pipeListener hands out one end of pipes, so that a whole server can live in a
// synctest bubble.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.done); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// pipe starts a server and one connection to it.
func pipe(t *testing.T, cfg Config, routes Routes) (*Server, *peerConn) {
	t.Helper()
	ln := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	s := NewServer(cfg)
	s.Serve(ln, ListenerConfig{Name: "PLAINTEXT", Routes: routes}).Start()
	ours, theirs := net.Pipe()
	ln.conns <- theirs
	return s, newPeer(t, ours)
}

// shut ends both sides, so that the bubble has no goroutine left.
func shut(t *testing.T, s *Server, c *peerConn) {
	t.Helper()
	_ = c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Close(ctx)
}
