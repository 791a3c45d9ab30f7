package transport

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/invariant"
)

const (
	// defaultOutstanding is how many requests of one connection may be started
	// and not answered, where the listener does not say.
	defaultOutstanding = 16
	maxReplyBytes      = 1 << 20 // replies of one connection that are ready and not sent
)

// call is one request from its start until its reply was sent.
type call struct {
	q       *queue
	req     Request
	service Service
	frame   *buffer // goes back when the handler returned
	held    int64   // bytes taken from decode
	decode  *budget
	seen    Observer // nil: nobody observes
	replied atomic.Bool
	began   time.Time // only where somebody observes

	// Set by encode before ready, then read by the writer.
	kind    replyKind
	out     *buffer
	parts   []Part
	release func()
	size    int64

	// Guarded by q.mu.
	ready     bool
	onAbandon func()
}

// queue holds the calls of one connection in the order of their requests: a
// ring that the reader fills and the writer empties from the front.
type queue struct {
	limit      int // of calls in the ring
	mu         sync.Mutex
	toRead     sync.Cond // the reader may go on
	toWrite    sync.Cond // the front is ready, or the end came
	ring       []*call   // grows up to limit as it is needed
	head, n    int
	readyBytes int64
	// barrier is the call everything behind waits for. Invariant: it is in the
	// ring and not ready.
	barrier  *call
	lastSent time.Time // when a reply was taken to be sent, or had been sent
	drained  bool      // no more requests are read; what was started is still answered
	ended    bool      // the client sends no more; what is not ready is not wanted
	closed   bool      // nothing will be sent any more
}

// newQueue makes a queue for so many calls; 0 means defaultOutstanding.
func newQueue(limit int) *queue {
	if limit <= 0 {
		limit = defaultOutstanding
	}
	q := &queue{limit: limit, ring: make([]*call, min(limit, defaultOutstanding))}
	q.toRead.L, q.toWrite.L = &q.mu, &q.mu
	return q
}

// waitTurn blocks until the next request may start; false: none may any more.
func (q *queue) waitTurn() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && !q.drained && (q.n == q.limit || q.readyBytes >= maxReplyBytes || q.barrier != nil) {
		q.toRead.Wait()
	}
	return !q.closed && !q.drained
}

// start puts a call at the end. Only the reader calls it, after waitTurn.
func (q *queue) start(k *call) {
	q.mu.Lock()
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.n)%len(q.ring)] = k
	q.n++
	if k.service.Barrier {
		q.barrier = k
	}
	q.mu.Unlock()
}

// grow makes the full ring larger. q.mu is held.
func (q *queue) grow() {
	ring := make([]*call, min(2*len(q.ring), q.limit))
	n := copy(ring, q.ring[q.head:])
	copy(ring[n:], q.ring[:q.head])
	q.ring, q.head = ring, 0
}

// answer takes the reply to a call, from any goroutine.
func (k *call) answer(r Reply) {
	invariant.Check(!k.replied.Swap(true), "second reply to key %d correlation id %d", k.req.Key, k.req.CorrelationID)
	if k.seen != nil && r.message != nil {
		k.seen.Answer(&k.req, r.message)
	}
	k.encode(r)
	q := k.q
	q.mu.Lock()
	k.ready, k.onAbandon = true, nil
	if q.closed {
		q.mu.Unlock()
		k.free()
		return
	}
	q.readyBytes += k.size
	if q.barrier == k {
		q.barrier = nil
		q.toRead.Signal()
	}
	if q.ring[q.head] == k {
		q.toWrite.Signal()
	}
	q.mu.Unlock()
}

// abandoned implements Request.Abandoned.
func (k *call) abandoned(f func()) {
	k.q.mu.Lock()
	dead := (k.q.closed || k.q.ended) && !k.ready
	if !dead && !k.ready {
		k.onAbandon = f
	}
	k.q.mu.Unlock()
	if dead {
		f()
	}
}

// take moves the calls at the front that are ready into batch and waits for
// the first. ok is false when nothing more can be sent: the connection is
// closed, or its requests ended and the next one is not answered.
func (q *queue) take(batch []*call) (calls []*call, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && !(q.n > 0 && q.ring[q.head].ready) {
		if q.ended || q.drained && q.n == 0 {
			return nil, false
		}
		q.toWrite.Wait()
	}
	if q.closed {
		return nil, false
	}
	q.lastSent = time.Now()
	for q.n > 0 && q.ring[q.head].ready {
		batch = append(batch, q.ring[q.head])
		q.ring[q.head] = nil
		q.head = (q.head + 1) % len(q.ring)
		q.n--
	}
	return batch, true
}

// sent makes room for what take took.
func (q *queue) sent(bytes int64) {
	q.mu.Lock()
	q.readyBytes -= bytes
	q.lastSent = time.Now()
	q.mu.Unlock()
	q.toRead.Signal()
}

// idleFor tells whether nothing is being served, and nothing was sent for so
// long.
func (q *queue) idleFor(allowance time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n == 0 && time.Since(q.lastSent) >= allowance
}

// drain says that no further request will be started here.
func (q *queue) drain() {
	q.mu.Lock()
	q.drained = true
	q.toWrite.Broadcast()
	q.toRead.Broadcast()
	q.mu.Unlock()
}

// end says that no request will follow. What waits is told that its client is
// gone; replies that are ready already still leave.
func (q *queue) end() {
	q.mu.Lock()
	q.ended = true
	waiting := q.abandon()
	q.toWrite.Broadcast()
	q.mu.Unlock()
	for _, f := range waiting {
		f()
	}
}

// close throws away what is ready and tells what waits.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	waiting := q.abandon()
	var ready []*call
	for i := range q.n {
		if k := q.ring[(q.head+i)%len(q.ring)]; k.ready {
			ready = append(ready, k)
		}
	}
	clear(q.ring)
	q.n, q.barrier = 0, nil
	q.toRead.Broadcast()
	q.toWrite.Broadcast()
	q.mu.Unlock()
	for _, k := range ready {
		k.free()
	}
	for _, f := range waiting {
		f()
	}
}

// abandon collects the callbacks of calls that wait. q.mu is held.
func (q *queue) abandon() []func() {
	var waiting []func()
	for i := range q.n {
		k := q.ring[(q.head+i)%len(q.ring)]
		if !k.ready && k.onAbandon != nil {
			waiting = append(waiting, k.onAbandon)
			k.onAbandon = nil
		}
	}
	return waiting
}
