package transport

import (
	"math/bits"
	"sync"
)

// Buffers come in powers of two from 1 KiB to 16 MiB, which holds a full batch
// for each of a dozen partitions; larger ones are left to the garbage collector.
// A pool of package sync gives up what two collections did not need, so an idle
// node keeps none.
const (
	minClass   = 10
	maxClass   = 24
	smallReply = 1 << minClass
)

var pools [maxClass - minClass + 1]sync.Pool

// buffer is a byte slice that goes back to the pool of its capacity.
type buffer struct{ b []byte }

// getBuffer returns a buffer of length 0 with room for n bytes.
func getBuffer(n int) *buffer {
	class := max(bits.Len(uint(max(n, 1)-1)), minClass)
	if class > maxClass {
		return &buffer{make([]byte, 0, n)}
	}
	if v, ok := pools[class-minClass].Get().(*buffer); ok {
		return v
	}
	return &buffer{make([]byte, 0, 1<<class)}
}

// put gives the buffer back. One that grew by append lands in the class that
// it can serve.
func (b *buffer) put() {
	class := bits.Len(uint(cap(b.b))) - 1
	if class < minClass || class > maxClass {
		return
	}
	b.b = b.b[:0]
	pools[class-minClass].Put(b)
}

// grow makes room for n bytes in all, and keeps what is there.
func (b *buffer) grow(n int) *buffer {
	if n <= cap(b.b) {
		return b
	}
	next := getBuffer(n)
	next.b = append(next.b, b.b...)
	b.put()
	return next
}

// budget bounds the bytes of requests in memory, over all connections
// (queued.max.request.bytes). When it is used up readers wait before they read
// a body. A single request may overdraw it: one larger than the whole budget
// would else never be served.
type budget struct {
	mu     sync.Mutex
	freed  sync.Cond
	limit  int64 // <= 0: no bound
	used   int64
	closed bool
}

func newBudget(limit int64) *budget {
	b := &budget{limit: limit}
	b.freed.L = &b.mu
	return b
}

// take waits for room and takes n bytes; false when the budget was closed.
func (b *budget) take(n int) bool {
	if b.limit <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.used >= b.limit && !b.closed {
		b.freed.Wait()
	}
	b.used += int64(n)
	return !b.closed
}

// tryTake takes n bytes only if they fit.
func (b *budget) tryTake(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.limit {
		return false
	}
	b.used += n
	return true
}

func (b *budget) give(n int64) {
	if b.limit <= 0 || n == 0 {
		return
	}
	b.mu.Lock()
	b.used -= n
	b.mu.Unlock()
	b.freed.Broadcast()
}

// close lets everybody who waits go.
func (b *budget) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.freed.Broadcast()
}
