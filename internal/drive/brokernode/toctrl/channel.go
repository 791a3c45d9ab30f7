// Package toctrl is a broker's way to the active controller, wherever that is:
// a call within this process, or requests over the network, many under way at
// once. It finds the controller and brings answers; it repeats nothing that may
// have had an effect, unless having it twice is harmless (see Repeatable).
//
// The quorum tells who the active controller is. When it moves, what is under way
// to the old one is not waited for: it is sent again to the new one, or answered
// with REQUEST_TIMED_OUT, because nobody can know what became of it.
package toctrl

import (
	"context"
	"errors"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/edge/transport"
)

// Leader is where the active controller is.
type Leader struct {
	Node  kafka.NodeID // kafka.NoNode: not known
	Epoch kafka.Epoch  // that it leads in
	Addr  string       // host:port of its controller listener
}

func (l Leader) known() bool { return l.Node != kafka.NoNode }

// nobody is the leader as long as none is known.
var nobody = Leader{Node: kafka.NoNode, Epoch: kafka.NoEpoch}

// Local serves a request in this process, as from a client.
type Local func(ctx context.Context, from transport.Caller, req kmsg.Request, done func(kmsg.Response, error))

// Config is what a channel needs.
type Config struct {
	Self kafka.NodeID
	// Local serves requests when this node is the active controller; nil where
	// the node has no controller.
	Local Local
	// Serves is the range of versions that Local serves of a key.
	Serves func(key int16) (minVersion, maxVersion int16, ok bool)
	// Own is how our own requests appear to Local.
	Own transport.Caller
	// Seal and Unseal put a client's request into an Envelope and read its
	// answer (KIP-590).
	Seal   func(from transport.Caller, req kmsg.Request) *kmsg.EnvelopeRequest
	Unseal func(req kmsg.Request, answer *kmsg.EnvelopeResponse) (kmsg.Response, error)
	// Elsewhere tells whether an answer says that its sender is not the active
	// controller.
	Elsewhere func(resp kmsg.Response) bool
	// Clients carries the requests of clients, Pool this broker's own: answers
	// come in order, and a heartbeat is not to wait for what clients wait for.
	Clients, Pool *transport.Pool
}

// Channel takes requests to the active controller.
type Channel struct {
	cfg     Config
	metrics Metrics

	// mu is held for reading while a request is handed to a connection, and for
	// writing while another controller takes the place of the last one: whatever
	// was handed over before is on a connection that Moved gives up.
	mu     sync.RWMutex
	target Leader // where requests go; nobody while none is known
	last   Leader // where they went last
	// parked are requests that wait for a controller, or a moment before they are
	// sent once more. MaxUnderWay bounds those of clients; this broker has a
	// handful of its own.
	parked map[*errand]struct{}
	closed bool
	work   sync.WaitGroup // grows with mu held and closed unset
}

// New makes a channel that knows of no controller yet; Moved tells it.
func New(cfg Config) *Channel {
	return &Channel{cfg: cfg, target: nobody, last: nobody, parked: map[*errand]struct{}{}}
}

// errMoved is why the connections to a former controller are given up.
var errMoved = errors.New("the controller moved")

// Moved tells where the active controller is now, in the order of the quorum's
// epochs. It does not block. What waits is sent there. A controller of a higher
// epoch on another node ends what is under way to the last one; late answers are
// lost with their connection (KIP-590 leaves such requests waiting until they
// time out).
func (c *Channel) Moved(to Leader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || to == c.target {
		return
	}
	c.target = to
	if !to.known() {
		return
	}
	from := c.last
	c.last = to
	waiting := c.takeParked()
	c.work.Go(func() {
		if from.known() && from.Node != to.Node && !c.here(from) {
			c.cfg.Clients.Get(from.Addr).Disconnect(errMoved)
			c.cfg.Pool.Get(from.Addr).Disconnect(errMoved)
		}
		for _, e := range waiting {
			c.send(e)
		}
	})
}

// Close answers those who wait for a controller and waits until they have been
// told. What was sent already is the pools'.
func (c *Channel) Close() {
	c.mu.Lock()
	c.closed = true
	waiting := c.takeParked()
	c.mu.Unlock()
	for _, e := range waiting {
		e.finish(nil, errNoController)
	}
	c.work.Wait()
}

// here tells whether requests to l stay in this process.
func (c *Channel) here(l Leader) bool { return l.Node == c.cfg.Self && c.cfg.Local != nil }

// Serves is the range of versions that the active controller serves of a key, empty
// where it has none of them. known is false while no controller is connected to.
func (c *Channel) Serves(key int16) (minVersion, maxVersion int16, known bool) {
	c.mu.RLock()
	l := c.target
	c.mu.RUnlock()
	var ok bool
	switch {
	case c.here(l):
		minVersion, maxVersion, ok = c.cfg.Serves(key)
		known = true
	case l.known():
		minVersion, maxVersion, ok, known = c.cfg.Pool.Get(l.Addr).Offers(key)
	}
	if !ok {
		return 0, -1, known
	}
	return minVersion, maxVersion, known
}

// Do sends one of this broker's own requests and waits for the answer. While no
// connection to a controller can be made nothing has been sent, so it looks for
// one until ctx ends; the error is NOT_CONTROLLER then.
func (c *Channel) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	type outcome struct {
		resp kmsg.Response
		err  error
	}
	got := make(chan outcome, 1)
	c.send(&errand{ctx: ctx, req: req, done: func(resp kmsg.Response, err error) { got <- outcome{resp, err} }})
	o := <-got
	return o.resp, o.err
}

// Forward takes a client's request to the controller. done is called once,
// perhaps before Forward returns. A request has 30 s. Where no controller is known,
// or none can be connected to, it is looked for until they or ctx end, or the time has
// passed that the request gives the controller. The error is REQUEST_TIMED_OUT then, as in Kafka,
// and also when the connection broke, or the controller moved, after the request
// was sent: its message tells which, as the outcome is unknown only in the second
// case.
func (c *Channel) Forward(ctx context.Context, from transport.Caller, req kmsg.Request, done func(kmsg.Response, error)) {
	if n := c.metrics.underWay.Add(1); n > MaxUnderWay {
		c.metrics.underWay.Add(-1)
		c.metrics.Refused.Add(1)
		done(nil, errTooMany)
		return
	}
	e := &errand{ctx: ctx, from: from, req: req, done: func(resp kmsg.Response, err error) {
		c.metrics.underWay.Add(-1)
		done(resp, err)
	}}
	e.limit()
	c.send(e)
}
