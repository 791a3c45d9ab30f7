package node

import "sync"

// held hands on what is given to it, and keeps it until somebody wants it. The
// zero value is ready for use.
type held[T any] struct {
	mu    sync.Mutex
	to    func(T) // nil: nobody wants it yet
	early []T
}

// give hands v on, in this goroutine or later in that of take.
func (h *held[T]) give(v T) {
	h.mu.Lock()
	to := h.to
	if to == nil {
		h.early = append(h.early, v)
	}
	h.mu.Unlock()
	if to != nil {
		to(v)
	}
}

// take has everything handed to a function, which may be called by many
// goroutines at once; first what is there already. It is called once.
func (h *held[T]) take(to func(T)) {
	h.mu.Lock()
	early := h.early
	h.to, h.early = to, nil
	h.mu.Unlock()
	for _, v := range early {
		to(v)
	}
}
