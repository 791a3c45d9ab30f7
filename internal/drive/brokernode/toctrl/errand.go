package toctrl

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
)

// MaxUnderWay bounds the requests of clients that wait for a controller or for
// its answer. A client has one under way on a connection, so it takes as many
// connections to get there. What comes then is refused with REQUEST_TIMED_OUT.
const MaxUnderWay = 20_000

// The waits before a request is sent once more: the first for a controller that
// answers but is not active yet, the last for one that cannot be connected to,
// which may have stopped without the quorum having noticed.
const (
	firstRest = 5 * time.Millisecond
	lastRest  = 50 * time.Millisecond
)

var (
	// errNoController: the controller was not found in time.
	errNoController = kerr.Errorf(kerr.NotController, "no active controller is known")
	// errUnfound is errNoController for clients, as Kafka's brokers answer.
	errUnfound = kerr.Errorf(kerr.RequestTimedOut, "no active controller was found in time; nothing was done")
	errTooMany = kerr.Errorf(kerr.RequestTimedOut, "%d requests are on their way to the controller already; nothing was done", MaxUnderWay)
)

// errand is a request on its way to the controller.
type errand struct {
	ctx  context.Context  // ends when nobody waits for an answer any more
	from transport.Caller // the client; without a connection the request is our own
	req  kmsg.Request
	done func(kmsg.Response, error)
	// deadline is when nobody waits any more, and giveUp when the search for a
	// controller ends; zero if only with ctx.
	deadline, giveUp time.Time
	rest             time.Duration // the last wait before it was sent once more

	// The rest means something only while the errand is parked, and is guarded by
	// Channel.mu.

	timer   *time.Timer // ends the rest; nil: waits for a controller
	unwatch func()      // stops watching for the end of the search
}

func (e *errand) own() bool { return e.from.ConnInfo == nil }

// finish answers. Clients are told in Kafka's way that there is no controller.
func (e *errand) finish(resp kmsg.Response, err error) {
	if err == errNoController && !e.own() {
		err = errUnfound
	}
	e.done(resp, err)
}

// over tells whether nobody waits any more.
func (e *errand) over() bool {
	return e.ctx.Err() != nil || !e.deadline.IsZero() && !time.Now().Before(e.deadline)
}

// clientPatience is how long a client's request may take: what clients wait for an
// answer by default.
const clientPatience = 30 * time.Second

// limit bounds the time of a client's request, and of its search by the time that
// it gives the controller, if it names one.
func (e *errand) limit() {
	now := time.Now()
	e.deadline = now.Add(clientPatience)
	e.giveUp = e.deadline
	if r, ok := e.req.(kmsg.TimeoutRequest); ok {
		own := time.Duration(max(0, r.Timeout())) * time.Millisecond
		e.giveUp = now.Add(min(own, clientPatience))
	}
}

// searching is the context of an errand's search.
func (e *errand) searching() (context.Context, context.CancelFunc) {
	if e.giveUp.IsZero() {
		return e.ctx, func() {}
	}
	return context.WithDeadline(e.ctx, e.giveUp)
}

// park keeps an errand until a controller is known. mu is held.
func (c *Channel) park(e *errand) {
	ctx, cancel := e.searching()
	stop := context.AfterFunc(ctx, func() {
		if c.unpark(e) {
			e.finish(nil, errNoController)
		}
	})
	e.unwatch = func() {
		stop()
		cancel()
	}
	c.parked[e] = struct{}{}
}

// unpark takes an errand back and tells whether it was there.
func (c *Channel) unpark(e *errand) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.take(e)
}

// take is unpark with mu held.
func (c *Channel) take(e *errand) bool {
	if _, ok := c.parked[e]; !ok {
		return false
	}
	delete(c.parked, e)
	e.unwatch()
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
	return true
}

// takeParked takes all back. mu is held.
func (c *Channel) takeParked() []*errand {
	all := make([]*errand, 0, len(c.parked))
	for e := range c.parked {
		all = append(all, e)
	}
	for _, e := range all {
		c.take(e)
	}
	return all
}

// later sends an errand once more after a rest, or as soon as another controller
// is known.
func (c *Channel) later(e *errand, rest time.Duration) {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		e.rest = rest
		c.park(e)
		e.timer = time.AfterFunc(rest, func() { c.rested(e) })
	}
	c.mu.Unlock()
	if closed {
		e.finish(nil, errNoController)
	}
}

// rested is the end of a rest.
func (c *Channel) rested(e *errand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed: // Close has it
	case !c.target.known():
		e.timer = nil
	case c.take(e):
		c.work.Go(func() { c.send(e) })
	}
}

// send hands an errand to the controller that is known, or parks it.
func (c *Channel) send(e *errand) {
	c.mu.RLock()
	l := c.target
	switch {
	case c.here(l):
		c.mu.RUnlock()
		c.serve(e)
		return
	case l.known():
		c.hand(e, l)
		c.mu.RUnlock()
		return
	}
	c.mu.RUnlock()
	c.mu.Lock()
	closed, came := c.closed, c.target.known()
	if !closed && !came {
		c.park(e)
	}
	c.mu.Unlock()
	switch {
	case closed:
		e.finish(nil, errNoController)
	case came:
		c.send(e)
	}
}

// hand gives an errand to the connection to a controller. mu is held for
// reading; the pool calls back later.
func (c *Channel) hand(e *errand, l Leader) {
	got := func(resp kmsg.Response, err error) { c.answered(e, l, resp, err) }
	if e.own() {
		c.cfg.Pool.Send(e.ctx, l.Addr, e.req, got)
		return
	}
	c.cfg.Clients.SendBy(e.ctx, l.Addr, e.deadline, c.cfg.Seal(e.from, e.req), got)
}

// serve serves an errand in this process.
func (c *Channel) serve(e *errand) {
	from := e.from
	from.Forwarded = true
	if e.own() {
		from = c.cfg.Own
		if _, newest, ok := c.cfg.Serves(e.req.Key()); ok {
			e.req.SetVersion(min(newest, e.req.MaxVersion()))
		}
	}
	ctx, cancel := e.ctx, context.CancelFunc(func() {})
	if !e.deadline.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, e.deadline)
	}
	var once sync.Once
	stop := context.AfterFunc(ctx, func() {
		once.Do(func() { e.finish(nil, ctx.Err()) })
	})
	c.cfg.Local(ctx, from, e.req, func(resp kmsg.Response, err error) {
		stop()
		cancel()
		once.Do(func() { c.deliver(e, resp, err) })
	})
}
