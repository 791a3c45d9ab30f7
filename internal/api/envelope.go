package api

import (
	"encoding/binary"
	"errors"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/wire"
	"github.com/ottla/ottla/internal/edge/transport"
)

// Envelope (58) carries a client's request from a broker to the active
// controller, together with who sent it (KIP-590): the request is a whole frame
// without its length, the answer likewise.
//
// The principal is Kafka's DefaultPrincipalData: int16 version 0, compact
// string type, compact string name, bool token-authenticated, tagged fields.

// errPrincipal refuses a principal that cannot be read.
var errPrincipal = errors.New("the principal cannot be read")

// envelope unwraps requests on the controller's listener and serves them from
// its own table, as the client that sent them.
type envelope struct{ table *Table }

// EnvelopeRoute serves forwarded requests from the marked routes of a table.
func EnvelopeRoute(table *Table) Route {
	return later(0, 0, envelope{table}.serve).on(OnController)
}

func (e envelope) serve(c Context, req *kmsg.EnvelopeRequest, reply func(kmsg.Response)) {
	answer := func(data []byte, code kerr.Code) {
		resp := kmsg.NewPtrEnvelopeResponse()
		resp.ResponseData, resp.ErrorCode = data, int16(code)
		reply(resp)
	}
	principal, byToken, err := readPrincipal(req.RequestPrincipal)
	if err != nil {
		answer(nil, kerr.PrincipalDeserializationFailure)
		return
	}
	host := net.IP(req.ClientHostAddress)
	if len(host) != net.IPv4len && len(host) != net.IPv6len {
		answer(nil, kerr.InvalidRequest)
		return
	}
	inner, header, err := e.open(req.RequestData)
	if err != nil {
		answer(nil, kerr.Of(err))
		return
	}
	from := transport.Caller{ClientID: string(header.ClientID), Forwarded: true, ConnInfo: &transport.ConnInfo{
		ID: c.Conn.ID, Listener: c.Conn.Listener, TLS: c.Conn.TLS,
		ClientHost: host.String(), Principal: principal, TokenAuthenticated: byToken,
	}}
	e.table.Call(c.Ctx, from, inner, func(resp kmsg.Response, err error) {
		switch {
		case err != nil:
			answer(nil, kerr.Of(err))
			return
		case Elsewhere(resp):
			answer(nil, kerr.NotController)
			return
		}
		data := wire.AppendResponseHeader(nil, header.Key, header.Version, header.CorrelationID)
		answer(resp.AppendTo(data), kerr.None)
	})
}

// open decodes the request inside. Only forwarded APIs may travel this way. What
// cannot be read is of an unsupported version, which tells it from an envelope
// that is not in order itself.
func (e envelope) open(frame []byte) (kmsg.Request, wire.RequestHeader, error) {
	header, body, err := wire.ReadRequestHeader(frame)
	switch {
	case err != nil:
		return nil, header, kerr.Errorf(kerr.UnsupportedVersion, "%v", err)
	case !e.table.forwards(header.Key):
		return nil, header, kerr.Errorf(kerr.InvalidRequest, "API %d is not one that is forwarded", header.Key)
	case !e.table.servesVersion(header.Key, header.Version):
		return nil, header, kerr.Errorf(kerr.UnsupportedVersion, "API %d version %d is not served", header.Key, header.Version)
	}
	if memory, err := wire.RequestMemory(header.Key, header.Version, body); err != nil || memory > maxUnsealed(body) {
		return nil, header, kerr.Errorf(kerr.UnsupportedVersion, "a body of %d bytes would take %d in memory (%v)", len(body), memory, err)
	}
	inner := kmsg.RequestForKey(header.Key)
	inner.SetVersion(header.Version)
	if err := inner.ReadFrom(body); err != nil {
		return nil, header, kerr.Errorf(kerr.UnsupportedVersion, "%v", err)
	}
	return inner, header, nil
}

// maxUnsealed bounds the memory of a forwarded request by its size on the wire.
func maxUnsealed(body []byte) int64 { return 4*int64(len(body)) + 64<<10 }

// forwards tells whether a key is served and marked as forwarded.
func (t *Table) forwards(key int16) bool {
	return key >= 0 && int(key) < len(t.byKey) && t.byKey[key] >= 0 && t.routes[t.byKey[key]].Forwarded
}

// servesVersion tells whether a key that the table has is served at a version.
func (t *Table) servesVersion(key, version int16) bool {
	r := &t.routes[t.byKey[key]]
	return r.Min <= version && version <= r.Max
}

// Seal makes the envelope of a client's request, under the client's own id: quotas
// of client ids are kept where the request is served.
func Seal(from transport.Caller, req kmsg.Request) *kmsg.EnvelopeRequest {
	header := wire.RequestHeader{Key: req.Key(), Version: req.GetVersion(), ClientID: []byte(from.ClientID)}
	sealed := kmsg.NewPtrEnvelopeRequest()
	sealed.RequestData = req.AppendTo(wire.AppendRequestHeader(nil, header))
	sealed.RequestPrincipal = appendPrincipal(nil, from.Principal, from.TokenAuthenticated)
	ip := net.ParseIP(from.ClientHost)
	if four := ip.To4(); four != nil {
		ip = four
	}
	if ip == nil {
		ip = net.IPv4(127, 0, 0, 1).To4()
	}
	sealed.ClientHostAddress = ip
	return sealed
}

// Unseal takes the controller's answer to req out of its envelope. Its bytes go to
// the client as they are: it is a relayed answer, which is decoded only by who
// wants to look into it.
func Unseal(req kmsg.Request, answer *kmsg.EnvelopeResponse) (kmsg.Response, error) {
	if code := kerr.Code(answer.ErrorCode); code != kerr.None {
		return nil, code
	}
	_, rest, err := wire.ReadCorrelationID(answer.ResponseData)
	if err != nil {
		return nil, err
	}
	body, err := wire.SkipResponseHeader(rest, req.Key(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	return &relayed{resp, body}, nil
}

// relayed is an answer whose bytes are sent on as they came. The response in it
// only tells key and version.
type relayed struct {
	kmsg.Response
	body []byte
}

// AppendTo appends the bytes that came.
func (r *relayed) AppendTo(dst []byte) []byte { return append(dst, r.body...) }

// Size is how many bytes those are.
func (r *relayed) Size() int { return len(r.body) }

// opened is an answer that can be looked into.
func opened(resp kmsg.Response) (kmsg.Response, error) {
	r, ok := resp.(*relayed)
	if !ok {
		return resp, nil
	}
	whole := r.RequestKind().ResponseKind()
	whole.SetVersion(r.GetVersion())
	return whole, whole.ReadFrom(r.body)
}

const userType = "User"

// appendPrincipal writes a principal of the form "Type:name"; what has no type is a
// user's name.
func appendPrincipal(dst []byte, principal string, byToken bool) []byte {
	kind, name, typed := strings.Cut(principal, ":")
	if !typed {
		kind, name = userType, principal
	}
	dst = append(dst, 0, 0)
	dst = appendCompact(dst, kind)
	dst = appendCompact(dst, name)
	if byToken {
		return append(dst, 1, 0)
	}
	return append(dst, 0, 0)
}

func appendCompact(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s)+1)), s...)
}

// readPrincipal reads what appendPrincipal writes.
func readPrincipal(src []byte) (principal string, byToken bool, err error) {
	if len(src) < 2 || src[0] != 0 || src[1] != 0 {
		return "", false, errPrincipal
	}
	kind, src, err := readCompact(src[2:])
	if err != nil {
		return "", false, err
	}
	name, src, err := readCompact(src)
	if err != nil || len(src) == 0 {
		return "", false, errPrincipal
	}
	return kind + ":" + name, src[0] != 0, nil
}

func readCompact(src []byte) (string, []byte, error) {
	n, used := binary.Uvarint(src)
	if used <= 0 || n == 0 || n-1 > uint64(len(src)-used) {
		return "", nil, errPrincipal
	}
	src = src[used:]
	return string(src[:n-1]), src[n-1:], nil
}
