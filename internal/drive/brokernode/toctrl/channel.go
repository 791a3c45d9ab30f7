// Package toctrl is a broker's way to the active controller, wherever that is:
// a call within this process, or requests over the network, many under way at
// once. It finds the controller and brings answers; it repeats nothing that may
// have had an effect.
package toctrl

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
)

// Leader is where the active controller is.
type Leader struct {
	Node kafka.NodeID // kafka.NoNode: not known
	Addr string       // host:port of its controller listener
}

// Local serves a request in this process, as from a client.
type Local func(ctx context.Context, from *transport.ConnInfo, req kmsg.Request, done func(kmsg.Response, error))

// Config is what a channel needs.
type Config struct {
	Self kafka.NodeID
	// Leader tells the newest known controller; it is asked before each attempt.
	Leader func() Leader
	// Local serves requests when this node is the active controller; nil where
	// the node has no controller.
	Local Local
	// Newest is the newest version that Local serves of a key.
	Newest func(key int16) (int16, bool)
	// Own is how our own requests appear to Local.
	Own *transport.ConnInfo
	// Seal and Unseal put a client's request into an Envelope and read its
	// answer (KIP-590).
	Seal   func(from *transport.ConnInfo, req kmsg.Request) *kmsg.EnvelopeRequest
	Unseal func(req kmsg.Request, answer *kmsg.EnvelopeResponse) (kmsg.Response, error)
	Pool   *transport.Pool
}

// Channel takes requests to the active controller.
type Channel struct {
	cfg  Config
	ctx  context.Context // ends with Close
	stop context.CancelFunc

	// searches are forwarded requests that look for the controller. They grow
	// with mu held and ctx alive, so that Close waits for all of them.
	mu       sync.Mutex
	searches sync.WaitGroup
}

// New makes a channel.
func New(cfg Config) *Channel {
	c := &Channel{cfg: cfg}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// Close ends the search for a controller, for all who wait for one, and waits
// until they have been told. What was sent already is the pool's.
func (c *Channel) Close() {
	c.mu.Lock()
	c.stop()
	c.mu.Unlock()
	c.searches.Wait()
}

// searchPause is the wait between two looks for a controller that is not known.
const searchPause = 5 * time.Millisecond

// refusedPause is the wait after a controller could not be connected to: it may
// have stopped, and the quorum has not noticed yet.
const refusedPause = 50 * time.Millisecond

// errNoController: the controller was not found in time.
var errNoController = kerr.Errorf(kerr.NotController, "no active controller is known")

// leader waits until a controller is known, or ctx or the channel ends.
func (c *Channel) leader(ctx context.Context) (Leader, error) {
	if l := c.cfg.Leader(); l.Node != kafka.NoNode {
		return l, nil
	}
	tick := time.NewTicker(searchPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return Leader{}, errNoController
		case <-c.ctx.Done():
			return Leader{}, errNoController
		case <-tick.C:
		}
		if l := c.cfg.Leader(); l.Node != kafka.NoNode {
			return l, nil
		}
	}
}

// here tells whether requests to l stay in this process.
func (c *Channel) here(l Leader) bool { return l.Node == c.cfg.Self && c.cfg.Local != nil }

// pause waits after a refused connection; false means that ctx or the channel
// ended.
func (c *Channel) pause(ctx context.Context) bool {
	timer := time.NewTimer(refusedPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
	return false
}

// Do sends one of this broker's own requests and waits for the answer. While no
// connection to a controller can be made nothing has been sent, so it looks for
// one until ctx ends.
func (c *Channel) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	for {
		l, err := c.leader(ctx)
		if err != nil {
			return nil, err
		}
		if c.here(l) {
			return c.local(ctx, req)
		}
		resp, err := c.cfg.Pool.Do(ctx, l.Addr, req)
		switch {
		case err == nil:
			return resp, nil
		case !transport.Unsent(err):
			return nil, fmt.Errorf("controller %d at %s: %w", l.Node, l.Addr, err)
		case !c.pause(ctx):
			return nil, errNoController
		}
	}
}

// local serves one of this broker's own requests in this process.
func (c *Channel) local(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if newest, ok := c.cfg.Newest(req.Key()); ok {
		req.SetVersion(min(newest, req.MaxVersion()))
	}
	type answer struct {
		resp kmsg.Response
		err  error
	}
	got := make(chan answer, 1)
	c.cfg.Local(ctx, c.cfg.Own, req, func(resp kmsg.Response, err error) { got <- answer{resp, err} })
	select {
	case a := <-got:
		return a.resp, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin runs a search, unless the channel is closed.
func (c *Channel) begin(search func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.searches.Go(search)
	return true
}
