package ctrlnode

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/drive/statelog"
)

// heirPatience bounds how long requests wait for this node to become the active
// controller. An election takes some milliseconds; one that takes longer may well be
// lost, and whoever asks had better look elsewhere.
const heirPatience = 100 * time.Millisecond

// waiting are requests that came while this node was being elected, or led and had
// not caught up with the commits yet. A refusal would send them on a round through
// all controllers at the very moment before this one takes them. They are decided in
// the order in which they came. Their number is bounded by statelog.MaxParked;
// further ones are refused as without it.
type waiting struct {
	// some tells that there are any: who comes then queues up behind them.
	some  atomic.Bool
	mu    sync.Mutex
	queue []func()
	// releasing tells that somebody puts them before the controller already.
	releasing bool
	closed    bool        // nobody waits any more
	limit     *time.Timer // refuses them when the election takes too long
	work      sync.WaitGroup
}

// take queues a request up if others wait, or if this node is rising.
func (w *waiting) take(rising func() bool, request func()) bool {
	if !w.some.Load() && !rising() {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// Once more: who is active by now has released already.
	if w.closed || len(w.queue) >= statelog.MaxParked || !w.some.Load() && !rising() {
		return false
	}
	if !w.some.Swap(true) {
		w.limit = time.AfterFunc(heirPatience, w.release)
	}
	w.queue = append(w.queue, request)
	return true
}

// release puts all that wait before the controller, which takes or refuses them.
// It does not wait for that.
func (w *waiting) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.some.Load() || w.releasing {
		return
	}
	w.releasing = true
	w.limit.Stop()
	w.work.Go(w.decideAll)
}

// close releases for good, and waits for it.
func (w *waiting) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.release()
	w.work.Wait()
}

func (w *waiting) decideAll() {
	for {
		w.mu.Lock()
		queue := w.queue
		if w.queue = nil; len(queue) == 0 {
			w.some.Store(false)
			w.releasing = false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		for _, request := range queue {
			request()
		}
	}
}

// rising tells whether this node stands for election or leads, and is not the active
// controller yet.
func (n *Node) rising() bool { return !n.serving.Load() && n.cfg.Quorum.Heir() }

// post decides a request now, or when this node has become active.
func (n *Node) post(request func()) {
	if !n.waiting.take(n.rising, request) {
		request()
	}
}
