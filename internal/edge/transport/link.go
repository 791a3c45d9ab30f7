package transport

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// link is one connection of a client, from dialing to its end. Its run
// goroutine dials and writes; a second one reads.
type link struct {
	addr  string
	cfg   *ClientConfig
	setup time.Duration   // how long connect may take
	ctx   context.Context // ends with the link
	stop  context.CancelFunc

	mu       sync.Mutex
	wake     sync.Cond // there is something to write, or the end came
	queue    []*exchange
	flight   []*exchange // written, in order; the front is answered next
	conn     net.Conn    // set once connected
	versions map[int16]versionRange
	lastID   int32
	cause    error // why the link ended
	overdue  overdue
}

type versionRange struct{ min, max int16 }

func newLink(addr string, cfg *ClientConfig, setup time.Duration) *link {
	l := &link{addr: addr, cfg: cfg, setup: setup}
	l.wake.L = &l.mu
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

func (l *link) usable() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause == nil
}

// connected tells whether the connection was set up at some time.
func (l *link) connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.versions != nil
}

func (l *link) push(e *exchange) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.cause != nil:
		return l.cause
	case len(l.queue) >= l.cfg.MaxQueued:
		return ErrBusy
	}
	l.queue = append(l.queue, e)
	l.overdue.watch(e.deadline, l.look)
	l.wake.Signal()
	return nil
}

// expire ends an exchange whose context is done. Answers come in order, so
// when one is overdue the link is given up.
func (l *link) expire(e *exchange, cause error) {
	if e.over() {
		return
	}
	err := fmt.Errorf("request to %s: %w", l.addr, cause)
	e.finish(nil, err)
	if errors.Is(cause, context.DeadlineExceeded) {
		l.fail(err)
	}
}

func (l *link) advertised(key int16) (minVersion, maxVersion int16, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause != nil {
		return 0, 0, false
	}
	r, ok := l.versions[key]
	return r.min, r.max, ok
}

// fail ends the link: all its exchanges fail with the first cause, and those that
// were not written yet are told so.
func (l *link) fail(cause error) {
	l.mu.Lock()
	if l.cause != nil {
		l.mu.Unlock()
		return
	}
	l.cause = cause
	lost, unwritten := l.flight, l.queue
	l.flight, l.queue = nil, nil
	l.overdue.stop()
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.wake.Broadcast()
	l.mu.Unlock()
	l.stop()
	for _, e := range lost {
		e.finish(nil, cause)
	}
	for _, e := range unwritten {
		e.finish(nil, fmt.Errorf("%w: %w", errUnwritten, cause))
	}
}

// run connects, then writes until the link fails.
func (l *link) run() {
	frames, err := l.connect()
	if err != nil {
		l.fail(fmt.Errorf("%w to %s: %w", errConnect, l.addr, err))
		return
	}
	var reading sync.WaitGroup
	reading.Go(func() { l.fail(fmt.Errorf("connection to %s: %w", l.addr, l.read(frames))) })
	if err := l.write(); err != nil {
		l.fail(fmt.Errorf("connection to %s: %w", l.addr, err))
	}
	reading.Wait()
}

// connect dials and asks for the versions of the other side.
func (l *link) connect() (*frameReader, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.setup)
	defer cancel()
	conn, err := l.cfg.Dial(ctx, l.addr)
	if err != nil {
		return nil, err
	}
	if l.cfg.TLS != nil {
		conn = tls.Client(conn, l.tlsConfig())
	}
	l.mu.Lock()
	l.conn = conn
	cause := l.cause
	l.mu.Unlock()
	if cause != nil {
		_ = conn.Close()
		return nil, cause
	}
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline) // a connection that is closed already says so at the write
	frames := newFrameReader(conn, l.cfg.MaxResponseBytes)
	versions, err := l.negotiate(conn, frames)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(noDeadline); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.versions = versions
	l.mu.Unlock()
	return frames, nil
}

func (l *link) tlsConfig() *tls.Config {
	if l.cfg.TLS.ServerName != "" {
		return l.cfg.TLS
	}
	cfg := l.cfg.TLS.Clone()
	cfg.ServerName, _, _ = net.SplitHostPort(l.addr)
	return cfg
}

// write sends what is queued, as much as there is with one system call.
func (l *link) write() error {
	buf := getBuffer(smallReply)
	defer func() { buf.put() }()
	for {
		batch, ok := l.next()
		if !ok {
			return nil
		}
		buf.b = buf.b[:0]
		for _, e := range batch {
			buf.b = l.append(buf.b, e)
		}
		if _, err := l.conn.Write(buf.b); err != nil {
			return err
		}
		if cap(buf.b) > 1<<maxClass {
			buf = getBuffer(smallReply)
		}
	}
}

// next waits for exchanges to write and moves them to those in flight; ones
// that cannot be sent are finished on the way.
//
// A link with requests under way carries those of many, who seldom come alone: they
// share a system call here, and at the other side, if all who can run have their turn
// before. A request that is alone does not wait for that.
func (l *link) next() (batch []*exchange, ok bool) {
	l.mu.Lock()
	for len(l.queue) == 0 && l.cause == nil {
		l.wake.Wait()
	}
	if len(l.flight) > 0 && l.cause == nil {
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
	}
	if l.cause != nil {
		l.mu.Unlock()
		return nil, false
	}
	var unsendable []*exchange
	for _, e := range l.queue {
		if e.over() {
			continue
		}
		if !l.choose(e) {
			unsendable = append(unsendable, e)
			continue
		}
		l.lastID++
		e.correlationID = l.lastID
		batch = append(batch, e)
	}
	l.queue = l.queue[:0]
	l.flight = append(l.flight, batch...)
	l.mu.Unlock()
	for _, e := range unsendable {
		e.finish(nil, fmt.Errorf("%s to %s: %w", kmsg.NameForKey(e.req.Key()), l.addr, ErrVersions))
	}
	return batch, true
}

// choose picks the newest version that both sides know, unless that is too old
// for the request. l.mu is held.
func (l *link) choose(e *exchange) bool {
	theirs, ok := l.versions[e.req.Key()]
	if !ok {
		return false
	}
	oursMin, oursMax, ok := wire.Known(e.req.Key())
	if !ok {
		return false
	}
	version := min(theirs.max, oursMax, e.req.MaxVersion())
	if l.cfg.MaxVersion != nil {
		if limit := l.cfg.MaxVersion(e.req.Key()); limit >= 0 {
			version = min(version, limit)
		}
	}
	if version < max(theirs.min, oursMin, e.least) {
		return false
	}
	e.version = version
	e.req.SetVersion(version)
	return true
}

// append encodes a request with its frame.
func (l *link) append(dst []byte, e *exchange) []byte {
	return appendRequest(dst, e.req, e.correlationID, l.cfg.ClientID)
}

func appendRequest(dst []byte, req kmsg.Request, correlationID int32, clientID string) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = wire.AppendRequestHeader(dst, wire.RequestHeader{
		Key: req.Key(), Version: req.GetVersion(), CorrelationID: correlationID, ClientID: []byte(clientID),
	})
	dst = req.AppendTo(dst)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-wire.FrameHead))
	return dst
}

// read takes responses in order and hands them out.
func (l *link) read(frames *frameReader) error {
	for {
		size, err := frames.head()
		if err != nil {
			return err
		}
		frame, err := frames.body(size)
		if err != nil {
			return err
		}
		id, rest, err := wire.ReadCorrelationID(frame.b)
		if err != nil {
			return err
		}
		e, err := l.answered(id)
		if err != nil {
			return err
		}
		if e.over() { // nobody waits any more
			frame.put()
			continue
		}
		resp, err := decodeResponse(e.req.ResponseKind(), e.req.Key(), e.version, rest)
		if err != nil {
			e.finish(nil, err)
			return err
		}
		e.finish(resp, nil) // the response may alias the frame, so that is not reused
	}
}

// answered takes the front of what is in flight.
func (l *link) answered(id int32) (*exchange, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.flight) == 0 || l.flight[0].correlationID != id {
		return nil, fmt.Errorf("%w: response with correlation id %d out of turn", wire.ErrMalformed, id)
	}
	e := l.flight[0]
	l.flight[0] = nil
	if l.flight = l.flight[1:]; len(l.flight) == 0 {
		l.flight = nil // do not keep the array for its tail
	}
	return e, nil
}

// maxDecoded is how much more than its frame a response may take in memory
// beyond what honest ones do.
const maxDecoded = 64 << 20

func decodeResponse(resp kmsg.Response, key, version int16, rest []byte) (kmsg.Response, error) {
	body, err := wire.SkipResponseHeader(rest, key, version)
	if err != nil {
		return nil, err
	}
	memory, err := wire.ResponseMemory(key, version, body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("response to %s version %d: %w", kmsg.NameForKey(key), version, err)
	case memory > freeMemory(len(body))+maxDecoded:
		return nil, fmt.Errorf("%w: response to %s would take %d bytes", wire.ErrMalformed, kmsg.NameForKey(key), memory)
	}
	resp.SetVersion(version)
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%w: response to %s version %d: %v", wire.ErrMalformed, kmsg.NameForKey(key), version, err)
	}
	return resp, nil
}
