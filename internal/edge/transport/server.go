package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// decodeBudget is shared by all requests that take more memory decoded than
// honest ones do.
const decodeBudget = 64 << 20

// diskReads bounds the threads that sendfile may keep waiting for a disk.
const diskReads = 64

// Config of a Server. The zero value has no limits besides MaxRequestBytes,
// which is then 100 MiB.
type Config struct {
	MaxRequestBytes int           // socket.request.max.bytes
	QueuedBytes     int64         // queued.max.request.bytes; <= 0: no bound
	Idle            time.Duration // connections.max.idle.ms; <= 0: for ever
	Bounds          Bounds        // until SetBounds
	Logger          *slog.Logger
	Observer        Observer // may be nil
}

// ListenerConfig describes one listener.
type ListenerConfig struct {
	Name        string
	Addr        string      // host:port to bind; port 0 picks one
	TLS         *tls.Config // nil: plaintext
	Outstanding int         // requests of one connection that may be started and not answered; <= 0: 16
	Routes      Routes
}

// Server owns the listeners and connections of a node.
type Server struct {
	cfg     Config
	queued  *budget
	decode  *budget
	refused refusals
	gate    *gate
	flow    *flow
	reads   chan struct{}

	ctx      context.Context // of every connection
	cancel   context.CancelFunc
	stopping atomic.Bool
	lastID   atomic.Uint64
	running  sync.WaitGroup

	mu        sync.Mutex
	bounds    Bounds
	listeners []*Listener
	conns     map[*conn]struct{}
	perIP     map[string]int
}

// NewServer makes a server without listeners.
func NewServer(cfg Config) *Server {
	if cfg.MaxRequestBytes <= 0 {
		cfg.MaxRequestBytes = 100 << 20
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		cfg: cfg, queued: newBudget(cfg.QueuedBytes), decode: newBudget(decodeBudget),
		refused: refusals{log: cfg.Logger, observer: cfg.Observer},
		bounds:  cfg.Bounds, gate: newGate(cfg.Bounds.Connections), reads: make(chan struct{}, diskReads),
		conns: map[*conn]struct{}{}, perIP: map[string]int{},
	}
	s.flow = newFlow(cfg.Bounds.Rate, s.gate.closed)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Listener is a bound address.
type Listener struct {
	srv  *Server
	cfg  ListenerConfig
	ln   net.Listener
	gate *gate
	flow *flow
	// rated: the server's own rate counts here, too.
	rated atomic.Bool
}

// Listen binds an address. Connections queue up in the kernel until Start.
func (s *Server) Listen(cfg ListenerConfig) (*Listener, error) {
	ln, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("listener %s: %w", cfg.Name, err)
	}
	return s.Serve(ln, cfg), nil
}

// Serve takes a listener that is bound already, for example one of a test.
func (s *Server) Serve(ln net.Listener, cfg ListenerConfig) *Listener {
	s.mu.Lock()
	l := &Listener{srv: s, cfg: cfg, ln: ln, gate: newGate(0)}
	l.flow = newFlow(0, l.gate.closed)
	l.obey(s.bounds)
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	return l
}

// Addr is the bound address.
func (l *Listener) Addr() net.Addr { return l.ln.Addr() }

// Name is the listener's name.
func (l *Listener) Name() string { return l.cfg.Name }

// Start begins to accept.
func (l *Listener) Start() { l.srv.running.Go(l.accept) }

func (l *Listener) accept() {
	s := l.srv
	for {
		if !s.gate.enter(s.ctx) {
			return
		}
		if !l.gate.enter(s.ctx) {
			s.gate.leave()
			return
		}
		nc, err := l.next()
		if err == nil {
			l.open(nc)
			continue
		}
		l.gate.leave()
		s.gate.leave()
		if errors.Is(err, net.ErrClosed) || !l.survive(err) {
			return
		}
	}
}

// next accepts a connection, and holds it until as many may have come.
func (l *Listener) next() (net.Conn, error) {
	nc, err := l.ln.Accept()
	if err != nil {
		return nil, err
	}
	if !l.flow.pass(l.srv.ctx) || l.rated.Load() && !l.srv.flow.pass(l.srv.ctx) {
		_ = nc.Close()
		return nil, net.ErrClosed
	}
	return nc, nil
}

// survive waits a moment after a failed accept: most often the process has no
// file descriptor left. It is false when the server stops meanwhile.
func (l *Listener) survive(err error) bool {
	if _, tell := l.srv.refused.tell("accept "+l.cfg.Name, time.Now()); tell {
		l.srv.cfg.Logger.Error("cannot accept connections", "listener", l.cfg.Name, "error", err)
	}
	pause := time.NewTimer(100 * time.Millisecond)
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-l.srv.ctx.Done():
		return false
	}
}

// open starts serving an accepted connection, or closes it where its address
// has too many.
func (l *Listener) open(nc net.Conn) {
	s := l.srv
	host, port := peer(nc)
	c := &conn{
		srv: s, routes: l.cfg.Routes, nc: nc, q: newQueue(l.cfg.Outstanding), idle: idle{allowance: s.cfg.Idle},
		info: &ConnInfo{
			ID: s.lastID.Add(1), Listener: l.cfg.Name, ClientHost: host, ClientPort: port,
			Principal: "User:ANONYMOUS", TLS: l.cfg.TLS != nil,
		},
		listener: l,
	}
	if l.cfg.TLS != nil {
		c.nc = tls.Server(nc, l.cfg.TLS)
	}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	c.frames = newFrameReader(c.nc, s.cfg.MaxRequestBytes)
	c.out = &writer{
		nc: c.nc, raw: rawConn(c.nc), q: c.q, observer: s.cfg.Observer, reads: s.reads,
		idle: idle{allowance: s.cfg.Idle},
	}
	if !s.admit(c) {
		c.cancel()
		_ = nc.Close()
		l.gate.leave()
		s.gate.leave()
		return
	}
	s.running.Go(c.serve)
}

func peer(nc net.Conn) (host string, port int) {
	addr := nc.RemoteAddr()
	if addr == nil {
		return "", 0
	}
	host, p, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String(), 0
	}
	port, _ = strconv.Atoi(p)
	return host, port
}

// admit counts the connection, unless its address has as many as it may or the
// server stops.
func (s *Server) admit(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	host := c.info.ClientHost
	if s.stopping.Load() {
		return false
	}
	if limit, bounded := s.bounds.ofAddress(host); bounded && s.perIP[host] >= limit {
		if s.cfg.Observer != nil {
			s.cfg.Observer.Refused("too many connections of one address")
		}
		return false
	}
	s.perIP[host]++
	s.conns[c] = struct{}{}
	if s.cfg.Observer != nil {
		s.cfg.Observer.Connection(c.info.Listener, +1)
	}
	return true
}

// forget is called once for every connection that was admitted.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	if s.perIP[c.info.ClientHost]--; s.perIP[c.info.ClientHost] == 0 {
		delete(s.perIP, c.info.ClientHost)
	}
	s.mu.Unlock()
	c.listener.gate.leave()
	s.gate.leave()
	if s.cfg.Observer != nil {
		s.cfg.Observer.Connection(c.info.Listener, -1)
	}
}

// Connections counts the open connections.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// RequestMemory is how many bytes of requests are in memory, and how many may be;
// the bound is 0 where there is none, and then nothing is counted.
func (s *Server) RequestMemory() (used, bound int64) {
	s.queued.mu.Lock()
	defer s.queued.mu.Unlock()
	return s.queued.used, max(s.queued.limit, 0)
}

// Close stops accepting and reading, lets requests that were started be
// answered until ctx is done, then cuts what is left. It returns when no
// goroutine of the server runs any more; the error is ctx's when it had to cut.
// A second call waits for the first.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.stopping.Swap(true) {
		s.mu.Unlock()
		s.running.Wait()
		return nil
	}
	for _, l := range s.listeners {
		_ = l.ln.Close()
		l.gate.close()
	}
	for c := range s.conns {
		_ = c.nc.SetReadDeadline(time.Now()) // wakes the reader
		c.q.drain()
	}
	s.mu.Unlock()
	s.gate.close()
	s.queued.close()
	done := make(chan struct{})
	go func() { // ends with the connections, which the rest of this function ends
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		s.cancel()
		return nil
	case <-ctx.Done():
	}
	s.cancel()
	for _, c := range s.open() {
		c.close()
	}
	<-done
	return ctx.Err()
}

func (s *Server) open() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		open = append(open, c)
	}
	return open
}
