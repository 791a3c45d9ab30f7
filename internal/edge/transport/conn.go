package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is one accepted connection.
type conn struct {
	srv      *Server
	listener *Listener
	routes   Routes
	nc       net.Conn
	info     *ConnInfo
	q        *queue
	frames   *frameReader
	out      *writer
	ctx      context.Context
	cancel   context.CancelFunc
	once     sync.Once
	idle     idle

	clientID string // of the last request; most connections have one only
}

// idle spares setting a deadline for every frame: it is moved only when an
// eighth of the allowance has passed since it was moved last.
type idle struct {
	allowance time.Duration // <= 0: for ever
	set       time.Time
}

func (i *idle) renew(setDeadline func(time.Time) error) {
	if i.allowance <= 0 {
		return
	}
	if now := time.Now(); now.Sub(i.set) > i.allowance/8 {
		i.set = now
		_ = setDeadline(now.Add(i.allowance)) // a closed connection says so at the next read
	}
}

// errStopping ends the reading of a connection when the node stops.
var errStopping = errors.New("node is stopping")

// serve runs the connection to its end.
func (c *conn) serve() {
	var writing sync.WaitGroup
	writing.Go(func() {
		c.out.run()
		c.close() // nothing more can be sent, so nothing more need be read
	})
	c.finish(c.read())
	writing.Wait()
}

// finish stops the intake. A node that stops still answers what it started; a
// client that is gone is owed no more than what is ready.
func (c *conn) finish(err error) {
	if errors.Is(err, errStopping) {
		c.q.drain()
		return
	}
	if c.ctx.Err() == nil {
		c.srv.refused.connection(c.info, err)
	}
	c.cancel()
	c.q.end()
}

// read serves requests until the client ends, something is wrong with what it
// sent, or the node stops.
func (c *conn) read() error {
	if t, ok := c.nc.(*tls.Conn); ok {
		c.idle.renew(c.nc.SetReadDeadline)
		if err := t.HandshakeContext(c.ctx); err != nil {
			return fmt.Errorf("%w: %w", errHandshake, err)
		}
	}
	for {
		size, err := c.waitFrame()
		if err != nil {
			return err
		}
		if err := c.readRequest(size); err != nil {
			return err
		}
	}
}

// waitFrame waits for the size of the next frame. A connection is not idle
// while a request of it is being served.
func (c *conn) waitFrame() (int, error) {
	for {
		c.idle.renew(c.nc.SetReadDeadline)
		if c.srv.stopping.Load() {
			return 0, errStopping
		}
		size, err := c.frames.head()
		switch {
		case err == nil || !isTimeout(err):
			return size, err
		case c.srv.stopping.Load():
			return 0, errStopping
		case c.q.idleFor(c.idle.allowance):
			return 0, err
		}
		c.idle.set = time.Time{}
	}
}

func isTimeout(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}

func (c *conn) readRequest(size int) error {
	if !c.srv.queued.take(size) {
		return errStopping
	}
	defer c.srv.queued.give(int64(size))
	frame, err := c.frames.body(size)
	if err != nil {
		return err
	}
	return c.start(frame)
}

// start decodes a request and calls its handler once its turn has come.
func (c *conn) start(frame *buffer) error {
	k := &call{q: c.q, frame: frame, decode: c.srv.decode, seen: c.srv.cfg.Observer}
	size := len(frame.b)
	if err := c.open(k); err != nil {
		frame.put()
		return err
	}
	if !wire.HoldsFrame(k.req.Key) {
		frame.put()
		k.frame = nil
	}
	if !c.q.waitTurn() {
		k.free()
		return errStopping
	}
	c.q.start(k)
	if k.seen != nil {
		k.began = time.Now()
		k.service.Handler(&k.req, k.answer)
		k.seen.Request(&k.req, size, time.Since(k.began))
	} else {
		k.service.Handler(&k.req, k.answer)
	}
	if k.frame != nil && k.service.Recycle {
		k.frame.put()
	}
	return nil
}

// open reads header and body of a request.
func (c *conn) open(k *call) error {
	h, body, err := wire.ReadRequestHeader(k.frame.b)
	if err != nil {
		return err
	}
	service, ok := c.routes.Find(h.Key, h.Version)
	if !ok {
		return errUnserved{h.Key, h.Version, string(h.ClientID)}
	}
	if c.clientID != string(h.ClientID) {
		c.clientID = string(h.ClientID)
	}
	k.service = service
	k.req = Request{
		Key: h.Key, Version: h.Version, CorrelationID: h.CorrelationID, ClientID: c.clientID,
		Conn: c.info, Ctx: c.ctx, call: k,
	}
	if service.NoBody {
		return nil
	}
	k.req.Body, k.held, err = decodeRequest(h, body, c.srv.decode)
	return err
}

// freeMemory is what decoding a body may take without asking: 4 times the
// frame and some more. Honest requests stay below it.
func freeMemory(frame int) int64 { return 4*int64(frame) + 64<<10 }

// decodeRequest decodes a body whose memory was bounded before. held is what
// it took from the budget beyond freeMemory's bound.
func decodeRequest(h wire.RequestHeader, body []byte, decode *budget) (req kmsg.Request, held int64, err error) {
	if len(body) > wire.Small {
		held, err = reserve(h, body, decode)
		if err != nil {
			return nil, 0, err
		}
	}
	req = kmsg.RequestForKey(h.Key)
	req.SetVersion(h.Version)
	if err := req.ReadFrom(body); err != nil {
		decode.give(held)
		return nil, 0, fmt.Errorf("%w: %s version %d: %v", wire.ErrMalformed, kmsg.NameForKey(h.Key), h.Version, err)
	}
	return req, held, nil
}

func reserve(h wire.RequestHeader, body []byte, decode *budget) (held int64, err error) {
	memory, err := wire.RequestMemory(h.Key, h.Version, body)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s version %d: %w", kmsg.NameForKey(h.Key), h.Version, err)
	case memory <= freeMemory(len(body)):
		return 0, nil
	case !decode.tryTake(memory):
		return 0, fmt.Errorf("%w: %s of %d bytes would take %d in memory", wire.ErrMalformed, kmsg.NameForKey(h.Key), len(body), memory)
	}
	return memory, nil
}

// close ends the connection at once; what waits is abandoned.
func (c *conn) close() {
	c.once.Do(func() {
		c.cancel()
		_ = c.nc.Close()
		c.q.close()
		c.srv.forget(c)
	})
}
