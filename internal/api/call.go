package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
)

// Call serves a request from within this process as if it had come over a
// listener of this table. done is called once, perhaps before Call returns; the
// error is UNSUPPORTED_VERSION when the table does not serve the request.
func (t *Table) Call(ctx context.Context, from transport.Caller, req kmsg.Request, done func(kmsg.Response, error)) {
	service, ok := t.Find(req.Key(), req.GetVersion())
	if !ok || service.NoBody {
		done(nil, kerr.Errorf(kerr.UnsupportedVersion, "%s version %d is not served here", kmsg.NameForKey(req.Key()), req.GetVersion()))
		return
	}
	r := &transport.Request{Key: req.Key(), Version: req.GetVersion(), ClientID: from.ClientID, Forwarded: from.Forwarded, Body: req, Conn: from.ConnInfo, Ctx: ctx}
	service.Handler(r, func(reply transport.Reply) {
		resp, ok := reply.Message()
		if !ok {
			done(nil, kerr.Errorf(kerr.UnknownServerError, "%s gave no message", kmsg.NameForKey(req.Key())))
			return
		}
		done(resp, nil)
	})
}

// Serves is the range of versions that the table serves of a key, for requests of
// this process, which negotiate as any client does.
func (t *Table) Serves(key int16) (minVersion, maxVersion int16, ok bool) {
	if key < 0 || int(key) >= len(t.byKey) || t.byKey[key] < 0 {
		return 0, 0, false
	}
	r := &t.routes[t.byKey[key]]
	return r.Min, r.Max, true
}
