package api

import (
	"github.com/ottla/ottla/internal/edge/transport"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Scope is a set of kinds of listeners.
type Scope uint8

// The kinds of listeners of a node.
const (
	OnBroker     Scope = 1 << iota // where clients and other brokers come in
	OnController                   // where brokers and the quorum come in
	Everywhere   = OnBroker | OnController
)

// Route is one API as this node serves it.
type Route struct {
	Key, Min, Max int16
	Scope         Scope // OnBroker where it is left out
	Serve         transport.Handler

	// Barrier: see transport.Service.
	Barrier bool
	// Recycle: see transport.Service.
	Recycle bool
	// Forwarded: the active controller does the work, so no version is
	// advertised that it does not serve.
	Forwarded bool
	// ListedFrom is the first version that ApiVersions shows, where it is below
	// Min. Only Produce has one: librdkafka takes a minimum above 0 for a broker
	// without compression (KAFKA-18659).
	ListedFrom int16
	listed     bool // ListedFrom is set
}

// Context is what a handler gets beside the body.
type Context struct{ *transport.Request }

// body is a pointer to one of kmsg's requests.
type body[T any] interface {
	*T
	kmsg.Request
}

// route serves an API whose answer is there when the handler returns; a nil
// response sends none. The response's version is that of the request.
func route[T any, P body[T]](minVersion, maxVersion int16, serve func(c Context, req P) kmsg.Response) Route {
	return later(minVersion, maxVersion, func(c Context, req P, reply func(kmsg.Response)) {
		reply(serve(c, req))
	})
}

// later serves an API whose answer may come after the handler returned, from
// any goroutine and exactly once; a nil response sends none.
func later[T any, P body[T]](minVersion, maxVersion int16, serve func(c Context, req P, reply func(kmsg.Response))) Route {
	return raw(P(new(T)).Key(), minVersion, maxVersion, func(r *transport.Request, reply func(transport.Reply)) {
		serve(Context{r}, r.Body.(P), func(resp kmsg.Response) {
			if resp == nil {
				reply(transport.None)
				return
			}
			resp.SetVersion(r.Version)
			reply(transport.FromMessage(resp))
		})
	})
}

// raw serves an API that makes its reply itself.
func raw(key, minVersion, maxVersion int16, serve transport.Handler) Route {
	return Route{Key: key, Min: minVersion, Max: maxVersion, Scope: OnBroker, Serve: serve}
}

// on says on which listeners the API is served.
func (r Route) on(s Scope) Route { r.Scope = s; return r }

// barrier has the next request of a connection wait for the reply.
func (r Route) barrier() Route { r.Barrier = true; return r }

// recycle promises that no byte slice of the body is kept after the handler
// returned.
func (r Route) recycle() Route { r.Recycle = true; return r }

// forwarded marks what the active controller does, and in the order asked for.
func (r Route) forwarded() Route { r.Forwarded, r.Barrier = true, true; return r }

// listedFrom shows a first version that is not served.
func (r Route) listedFrom(version int16) Route { r.ListedFrom, r.listed = version, true; return r }
