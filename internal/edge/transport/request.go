package transport

import (
	"context"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Request is one decoded request. Strings in Body are copies. Byte slices in
// it alias the frame: where the Service says Recycle they are dead when the
// handler returns, else they live as long as somebody holds them.
type Request struct {
	Key, Version  int16
	CorrelationID int32
	ClientID      string
	// Forwarded: a broker passed the request on. The rest describes the client that
	// it has it from.
	Forwarded bool
	Body      kmsg.Request // nil where the Service says NoBody
	Conn      *ConnInfo
	Ctx       context.Context // done when the connection is

	call *call
}

// Abandoned registers what to do when the connection dies before the reply: a
// parked request drops out of its lists. It is called at most once, perhaps
// right here. A reply is still owed afterwards, and thrown away; it may be
// given from within f. It costs no goroutine, unlike waiting for Ctx.
func (r *Request) Abandoned(f func()) {
	if r.call == nil { // made by hand, as tests do
		context.AfterFunc(r.Ctx, f)
		return
	}
	r.call.abandoned(f)
}

// Handler serves one request on the connection's reader goroutine. It returns
// when the effect of the request is done, and calls reply exactly once: before
// it returns or later, from any goroutine, and with no lock held that a
// handler may need.
type Handler func(r *Request, reply func(Reply))

// Service says how requests of one key and version are served.
type Service struct {
	Handler Handler
	// Barrier: the next request waits for the reply to this one, not only for
	// its handler. For requests whose order of effects counts although they
	// finish elsewhere: SASL, group membership, forwarded writes.
	Barrier bool
	// Recycle: the handler keeps no byte slice of the body after it returned.
	Recycle bool
	// NoBody: the body is not decoded. For the answer to an ApiVersions
	// request of a version nobody here knows.
	NoBody bool
}

// Routes finds the service for a request before its body is decoded. When it
// has none the connection is closed without an answer, as Kafka does.
type Routes interface {
	Find(key, version int16) (Service, bool)
}

// ConnInfo describes a connection to its handlers. It is shared by all
// requests of the connection and not changed, except for Software.
type ConnInfo struct {
	ID         uint64
	Listener   string // the listener's name, for example PLAINTEXT
	ClientHost string // the peer's IP address
	ClientPort int
	Principal  string // "User:ANONYMOUS" where nobody logged in
	TLS        bool
	// TokenAuthenticated: who logged in did so with a delegation token, which does
	// not entitle to ask for others (KIP-48).
	TokenAuthenticated bool
	// InProcess: there is no connection, this node asks itself.
	InProcess bool

	software atomic.Pointer[Software]
}

// Caller is who sent a request: the connection it came on, and the client id in
// its header, which may differ from one request to the next.
type Caller struct {
	*ConnInfo
	ClientID  string
	Forwarded bool // by a broker
}

// Caller is who sent the request.
func (r *Request) Caller() Caller { return Caller{r.Conn, r.ClientID, r.Forwarded} }

// Software is what a client called itself in ApiVersions.
type Software struct{ Name, Version string }

// SetSoftware notes what the client called itself.
func (c *ConnInfo) SetSoftware(name, version string) { c.software.Store(&Software{name, version}) }

// Software is what the client called itself, or empty names.
func (c *ConnInfo) Software() Software {
	if s := c.software.Load(); s != nil {
		return *s
	}
	return Software{}
}
