package transport

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Observer sees what goes through a server, for metrics. Its methods are
// called from many goroutines and must not block.
type Observer interface {
	// Request: a handler returned after handling; size is the frame's bytes.
	Request(r *Request, size int, handling time.Duration)
	// Answer: a handler answered with a message, which is encoded next.
	Answer(r *Request, m kmsg.Response)
	// Reply: the reply left, or failed to, so long after the handler began.
	Reply(r *Request, size int64, total time.Duration)
	// Connection: one was accepted (+1) or closed (-1).
	Connection(listener string, delta int)
	// Refused: a connection was closed for what it sent; reason is one of few words.
	Refused(reason string)
}
