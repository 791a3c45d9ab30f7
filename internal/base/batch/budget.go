package batch

import "sync"

// Memory for decompression is shared by all requests: what one batch needs is
// taken before its first byte is decompressed and given back when it was looked
// at. A batch that needs more than there is takes everything and so runs alone.
var (
	// quickBudget is for batches that are small when decompressed, and for the
	// first look at the others. It has room for more of them than there are
	// processors, so that waiting costs no throughput.
	quickBudget = newBudget(32 << 20)
	// largeBudget is for batches that are not small, so that those never keep
	// the small ones waiting.
	largeBudget = newBudget(64 << 20)
)

// budget is a number of bytes that many share. Who asks for more than is free
// waits, first come first served; holders only compute, so no wait is for ever.
// There are at most as many waiting as there are requests being served, which
// the transport bounds.
type budget struct {
	size int

	mu sync.Mutex
	// free is what nobody holds. Invariant: 0 <= free <= size.
	free  int
	queue []*waiting
}

type waiting struct {
	bytes int
	ready chan struct{} // closed when the bytes are the waiter's
}

func newBudget(size int) *budget { return &budget{size: size, free: size} }

// take waits for n bytes, or for all there are if n is more, and tells how many
// to give back. Nobody takes twice without giving in between.
func (b *budget) take(n int) int {
	n = min(n, b.size)
	b.mu.Lock()
	if len(b.queue) == 0 && n <= b.free {
		b.free -= n
		b.mu.Unlock()
		return n
	}
	w := &waiting{bytes: n, ready: make(chan struct{})}
	b.queue = append(b.queue, w)
	b.mu.Unlock()
	<-w.ready
	return n
}

// give gives back what take took.
func (b *budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
	for len(b.queue) > 0 && b.queue[0].bytes <= b.free {
		w := b.queue[0]
		b.queue[0], b.queue = nil, b.queue[1:]
		b.free -= w.bytes
		close(w.ready)
	}
}
