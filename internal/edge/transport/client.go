package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// defaultQueued bounds the requests of a client that are not written yet, where
// its configuration does not.
const defaultQueued = 1024

// ClientConfig of a Client or of all clients of a Pool.
type ClientConfig struct {
	ClientID        string
	SoftwareName    string // sent in ApiVersions; "ottla" when empty
	SoftwareVersion string // "0" when empty
	// DialTimeout bounds the setup of a connection, ApiVersions included; 10 s
	// where it is not positive (socket.connection.setup.timeout.ms). It doubles
	// with each setup in a row that fails, up to DialTimeoutMax; 30 s where that
	// is not positive (socket.connection.setup.timeout.max.ms).
	DialTimeout      time.Duration
	DialTimeoutMax   time.Duration
	RequestTimeout   time.Duration // for requests without a deadline; 30 s when zero
	MaxResponseBytes int           // 100 MiB when zero
	MaxQueued        int           // requests that are not written yet, beyond which ErrBusy answers; 1024 when zero
	TLS              *tls.Config   // nil: plaintext
	// MaxVersion may hold a key below the newest version both sides know; nil
	// and negative results do not.
	MaxVersion func(key int16) int16
	// Dial replaces the dialer of package net.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
}

func (c ClientConfig) withDefaults() ClientConfig {
	if c.SoftwareName == "" {
		c.SoftwareName = "ottla"
	}
	c.SoftwareName, c.SoftwareVersion = softwareWord(c.SoftwareName), softwareWord(c.SoftwareVersion)
	if c.SoftwareVersion == "" {
		c.SoftwareVersion = "0"
	}
	if c.DialTimeout <= 0 {
		c.DialTimeout = 10 * time.Second
	}
	if c.DialTimeoutMax <= 0 {
		c.DialTimeoutMax = 30 * time.Second
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = 30 * time.Second
	}
	if c.MaxResponseBytes == 0 {
		c.MaxResponseBytes = 100 << 20
	}
	if c.MaxQueued == 0 {
		c.MaxQueued = defaultQueued
	}
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	return c
}

// softwareWord makes of a text what ApiVersions takes for a name or a version:
// letters, digits, '-' and '.', the first and last a letter or digit. A peer
// refuses anything else, and with it the connection.
func softwareWord(text string) string {
	word := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.':
			return r
		}
		return '-'
	}, text)
	return strings.Trim(word, "-.")
}

// Client sends requests to one address over one connection, many at a time.
// The connection is made by the first request and again by the first one after
// it broke; a broken connection fails all requests on it, and nothing is sent
// twice. There is no pause between attempts: who sends decides when to.
type Client struct {
	addr string
	cfg  ClientConfig

	mu     sync.Mutex
	link   *link         // nil until the first request
	setup  time.Duration // how long the setup of link may take
	closed bool
	// work counts the connections and the refusals under way. It grows with mu
	// held and closed unset, so that Close waits for all of it.
	work sync.WaitGroup
}

// NewClient makes a client; it does not connect yet.
func NewClient(addr string, cfg ClientConfig) *Client {
	return &Client{addr: addr, cfg: cfg.withDefaults()}
}

// Addr is the address the client was made for.
func (c *Client) Addr() string { return c.addr }

// exchange is a request and who waits for its response.
type exchange struct {
	req   kmsg.Request
	least int16 // no version below this one will do
	done  func(kmsg.Response, error)
	// deadline is watched by the link; zero where the context has one, which is
	// watched then.
	deadline time.Time

	mu       sync.Mutex
	finished bool
	stop     func() bool // stops watching the context

	// Set by the link when the request is written.
	correlationID int32
	version       int16
}

// over tells whether nobody waits any more.
func (e *exchange) over() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.finished
}

// finish calls done, the first time.
func (e *exchange) finish(resp kmsg.Response, err error) {
	e.mu.Lock()
	if e.finished {
		e.mu.Unlock()
		return
	}
	e.finished = true
	stop := e.stop
	e.mu.Unlock()
	if stop != nil {
		stop()
	}
	e.done(resp, err)
}

// watched takes the function that stops watching the context.
func (e *exchange) watched(stop func() bool) {
	e.mu.Lock()
	e.stop = stop
	finished := e.finished
	e.mu.Unlock()
	if finished {
		stop()
	}
}

// Send sends a request at the newest version both sides know and calls done
// once, never from within Send: with the response, or with the reason why
// there is none. The request belongs to the client until then. A request that
// runs out of time takes the connection with it, as the answers behind it
// could only come later still.
//
// Errors keep their cause: see Unsent, Refused and Reset, ErrVersions, ErrBusy,
// ErrClosed and those of package context.
func (c *Client) Send(ctx context.Context, req kmsg.Request, done func(kmsg.Response, error)) {
	c.SendSince(ctx, 0, req, done)
}

// SendSince is Send of a request that means something else in versions before
// least. The other side's versions are those of the very connection it goes out
// on: where they are all older, the request fails with ErrVersions.
func (c *Client) SendSince(ctx context.Context, least int16, req kmsg.Request, done func(kmsg.Response, error)) {
	e := &exchange{req: req, least: least, done: done}
	if _, ok := ctx.Deadline(); !ok {
		e.deadline = time.Now().Add(c.cfg.RequestTimeout)
	}
	c.send(ctx, e)
}

// SendBy is Send of a request that has until a deadline, whatever ctx says. That is
// cheaper than a context with one: a link watches the deadlines of all its requests
// with a single timer.
func (c *Client) SendBy(ctx context.Context, deadline time.Time, req kmsg.Request, done func(kmsg.Response, error)) {
	c.send(ctx, &exchange{req: req, done: done, deadline: deadline})
}

func (c *Client) send(ctx context.Context, e *exchange) {
	if l := c.enqueue(e); l != nil && ctx.Done() != nil {
		e.watched(context.AfterFunc(ctx, func() { l.expire(e, ctx.Err()) }))
	}
}

// enqueue hands an exchange to the current connection or to a new one, or
// refuses it: then there is none.
func (c *Client) enqueue(e *exchange) *link {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		go e.finish(nil, fmt.Errorf("%s: %w", c.addr, ErrClosed)) // Close has waited already: it ends with done
		return nil
	}
	if c.link == nil || !c.link.usable() {
		c.connect()
	}
	if err := c.link.push(e); err != nil {
		c.work.Go(func() { e.finish(nil, fmt.Errorf("%s: %w", c.addr, err)) })
		return nil
	}
	return c.link
}

// connect begins a new connection. c.mu is held. The other side may be slow
// rather than gone, so each setup in a row that fails gives the next one more
// time.
func (c *Client) connect() {
	if c.link != nil && !c.link.connected() {
		c.setup = min(2*c.setup, c.cfg.DialTimeoutMax)
	} else {
		c.setup = min(c.cfg.DialTimeout, c.cfg.DialTimeoutMax)
	}
	c.link = newLink(c.addr, &c.cfg, c.setup)
	c.work.Go(c.link.run)
}

// Do is Send that waits.
func (c *Client) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	type outcome struct {
		resp kmsg.Response
		err  error
	}
	got := make(chan outcome, 1)
	c.Send(ctx, req, func(resp kmsg.Response, err error) { got <- outcome{resp, err} })
	o := <-got
	return o.resp, o.err
}

// Versions gives the range that the other side advertised for a key on the
// current connection; ok is false without a connection, after it broke, and without
// that key. The next request may go out on another connection: SendSince is for
// those that depend on a version.
func (c *Client) Versions(key int16) (minVersion, maxVersion int16, ok bool) {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l == nil {
		return 0, 0, false
	}
	return l.advertised(key)
}

// Offers is Versions that tells a key which the other side does not have, where ok is
// false and known is not, from a connection that is not there.
func (c *Client) Offers(key int16) (minVersion, maxVersion int16, ok, known bool) {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l == nil || !l.connected() {
		return 0, 0, false, false
	}
	minVersion, maxVersion, ok = l.advertised(key)
	return minVersion, maxVersion, ok, ok || l.usable()
}

// Disconnect breaks the current connection; requests on it fail with cause.
func (c *Client) Disconnect(cause error) {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l != nil {
		l.fail(cause)
	}
}

// Close fails what is under way and waits for the client's goroutines.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	l := c.link
	c.mu.Unlock()
	if l != nil {
		l.fail(ErrClosed)
	}
	c.work.Wait()
}
