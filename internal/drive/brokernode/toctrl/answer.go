package toctrl

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
)

// answered looks at what a connection to a controller brought: an answer, or the
// reason why there is none.
func (c *Channel) answered(e *errand, l Leader, resp kmsg.Response, err error) {
	moved := errors.Is(err, errMoved)
	again := transport.Unsent(err) || err != nil && !e.over() && Repeatable(e.req)
	switch {
	case err == nil && e.own():
		c.deliver(e, resp, nil)
	case err == nil:
		c.unseal(e, resp)
	case errors.Is(err, transport.ErrVersions), errors.Is(err, transport.ErrClosed):
		e.finish(nil, fmt.Errorf("controller %d at %s: %w", l.Node, l.Addr, err))
	case errors.Is(err, transport.ErrBusy):
		c.metrics.Refused.Add(1)
		e.finish(nil, kerr.Errorf(kerr.RequestTimedOut, "controller %d at %s: %v; nothing was done", l.Node, l.Addr, err))
	case moved && again:
		c.metrics.Repeated.Add(1)
		c.send(e)
	case again:
		c.later(e, lastRest)
	case moved:
		c.metrics.Unknown.Add(1)
		e.finish(nil, kerr.Errorf(kerr.RequestTimedOut, "outcome unknown, the controller moved from node %d", l.Node))
	default:
		c.metrics.Unknown.Add(1)
		e.finish(nil, kerr.Errorf(kerr.RequestTimedOut, "controller %d at %s: the outcome is unknown: %v", l.Node, l.Addr, err))
	}
}

// unseal takes the answer out of its envelope. What the envelope itself says is
// not the client's business, except that the request is of a version that cannot
// be served (KIP-590).
func (c *Channel) unseal(e *errand, resp kmsg.Response) {
	sealed, ok := resp.(*kmsg.EnvelopeResponse)
	if !ok {
		e.finish(nil, errors.New("the controller answered with something else"))
		return
	}
	if kerr.Code(sealed.ErrorCode) == kerr.NotController {
		c.elsewhere(e)
		return
	}
	answer, err := c.cfg.Unseal(e.req, sealed)
	if err != nil && kerr.Of(err) != kerr.UnsupportedVersion {
		err = kerr.Errorf(kerr.UnknownServerError, "the controller could not take a forwarded request: %v", err)
	}
	e.finish(answer, err)
}

// deliver gives an answer to who waits for it, unless it says that the request
// came to the wrong node, which did nothing then.
func (c *Channel) deliver(e *errand, resp kmsg.Response, err error) {
	if err == nil && c.cfg.Elsewhere(resp) {
		c.elsewhere(e)
		return
	}
	e.finish(resp, err)
}

// elsewhere sends an errand once more: the node it came to is not the active
// controller, or not yet.
func (c *Channel) elsewhere(e *errand) {
	c.later(e, min(max(2*e.rest, firstRest), lastRest))
}
