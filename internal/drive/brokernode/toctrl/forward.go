package toctrl

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
)

// errand is a client's request on its way to the controller.
type errand struct {
	ctx  context.Context // ends when nobody waits for an answer any more
	from *transport.ConnInfo
	req  kmsg.Request
	done func(kmsg.Response, error)
	// giveUp is when the search for a controller ends, zero if only with ctx.
	giveUp time.Time
}

// Forward takes a client's request to the controller. done is called once,
// perhaps before Forward returns. Where no controller is known, or none can be
// connected to, it is looked for until ctx ends or the time has passed that the
// request gives the controller; then the error is NOT_CONTROLLER. When the
// connection breaks after the request was sent the outcome is unknown and the
// error is REQUEST_TIMED_OUT.
func (c *Channel) Forward(ctx context.Context, from *transport.ConnInfo, req kmsg.Request, done func(kmsg.Response, error)) {
	e := errand{ctx: ctx, from: from, req: req, done: done}
	if r, ok := req.(kmsg.TimeoutRequest); ok {
		e.giveUp = time.Now().Add(time.Duration(max(0, r.Timeout())) * time.Millisecond)
	}
	if l := c.cfg.Leader(); l.Node != kafka.NoNode {
		c.handOver(e, l)
		return
	}
	c.search(e, func(context.Context) bool { return true })
}

// search looks for the controller aside, once wait lets it: the connection that
// brought the request has others to read.
func (c *Channel) search(e errand, wait func(context.Context) bool) {
	look := func() {
		ctx, cancel := e.ctx, context.CancelFunc(func() {})
		if !e.giveUp.IsZero() {
			ctx, cancel = context.WithDeadline(ctx, e.giveUp)
		}
		defer cancel()
		if !wait(ctx) {
			e.done(nil, errNoController)
			return
		}
		l, err := c.leader(ctx)
		if err != nil {
			e.done(nil, err)
			return
		}
		c.handOver(e, l)
	}
	if !c.begin(look) {
		e.done(nil, errNoController)
	}
}

func (c *Channel) handOver(e errand, l Leader) {
	if c.here(l) {
		c.cfg.Local(e.ctx, e.from, e.req, e.done)
		return
	}
	c.cfg.Pool.Send(e.ctx, l.Addr, c.cfg.Seal(e.from, e.req), func(resp kmsg.Response, err error) {
		switch {
		case transport.Unsent(err):
			c.search(e, c.pause)
		case err != nil:
			e.done(nil, kerr.Errorf(kerr.RequestTimedOut, "controller %d at %s: the outcome is unknown: %v", l.Node, l.Addr, err))
		default:
			c.unseal(e, resp)
		}
	})
}

func (c *Channel) unseal(e errand, resp kmsg.Response) {
	answer, ok := resp.(*kmsg.EnvelopeResponse)
	if !ok {
		e.done(nil, errors.New("the controller answered with something else"))
		return
	}
	e.done(c.cfg.Unseal(e.req, answer))
}
