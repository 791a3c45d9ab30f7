package transport

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxClients bounds the addresses a pool knows. They are those of the cluster's
// members, so a pool that is full holds some that are members no more: the one
// that was not used for the longest time makes room, and what is under way on it
// fails as when its connection breaks.
const maxClients = 64

// Pool keeps one client for each address.
type Pool struct {
	cfg ClientConfig

	mu      sync.Mutex
	clients map[string]*pooled
	uses    uint64
	closed  bool
	retired sync.WaitGroup // clients that have made room and are being closed
}

// pooled is a client and when it was used last, in uses of the pool.
type pooled struct {
	*Client
	used uint64
}

// NewPool makes a pool whose clients share a configuration.
func NewPool(cfg ClientConfig) *Pool {
	return &Pool{cfg: cfg, clients: map[string]*pooled{}}
}

// Get returns the client of an address, host:port. It is to be used at once.
func (p *Pool) Get(addr string) *Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.clients[addr]
	if c == nil {
		if len(p.clients) >= maxClients {
			p.makeRoom()
		}
		c = &pooled{Client: NewClient(addr, p.cfg)}
		c.closed = p.closed
		p.clients[addr] = c
	}
	p.uses++
	c.used = p.uses
	return c.Client
}

// makeRoom gives up the client that was not used for the longest time. mu is
// held, so somebody else waits for its goroutines.
func (p *Pool) makeRoom() {
	var oldest *pooled
	for _, c := range p.clients {
		if oldest == nil || c.used < oldest.used {
			oldest = c
		}
	}
	delete(p.clients, oldest.Addr())
	if !p.closed {
		p.retired.Go(oldest.Close)
	}
}

// Send is Client.Send to an address.
func (p *Pool) Send(ctx context.Context, addr string, req kmsg.Request, done func(kmsg.Response, error)) {
	p.Get(addr).Send(ctx, req, done)
}

// SendSince is Client.SendSince to an address.
func (p *Pool) SendSince(ctx context.Context, addr string, least int16, req kmsg.Request, done func(kmsg.Response, error)) {
	p.Get(addr).SendSince(ctx, least, req, done)
}

// SendBy is Client.SendBy to an address.
func (p *Pool) SendBy(ctx context.Context, addr string, deadline time.Time, req kmsg.Request, done func(kmsg.Response, error)) {
	p.Get(addr).SendBy(ctx, deadline, req, done)
}

// Do is Client.Do to an address.
func (p *Pool) Do(ctx context.Context, addr string, req kmsg.Request) (kmsg.Response, error) {
	return p.Get(addr).Do(ctx, req)
}

// Close closes all clients and waits for their goroutines.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	clients := p.clients
	p.clients = map[string]*pooled{}
	p.mu.Unlock()
	for _, c := range clients {
		c.Client.Close()
	}
	p.retired.Wait()
}
