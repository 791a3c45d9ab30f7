package raftnode

import (
	"errors"
	"fmt"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Renewer is a Sender that can be asked to use a new connection to an address
// for what follows, because the old one let a request go unanswered (B2).
type Renewer interface{ Renew(addr string) }

// request sends a request of the core to a peer.
func (l *loop) request(m raft.Message) {
	n, addr := l.n, hostPort(m.At)
	if r, ok := n.cfg.Sender.(Renewer); ok && m.Fresh {
		r.Renew(addr)
	}
	n.cfg.Sender.Send(m.To, addr, n.wire.ask(m.Body), func(resp kmsg.Response, err error) {
		_ = n.put(n.wire.outcome(m, addr, resp, err))
		n.suspect(m, addr, err)
	})
}

// ask writes a request for the wire.
func (w translator) ask(body raft.Body) kmsg.Request {
	switch r := body.(type) {
	case raft.VoteRequest:
		return w.askVote(r)
	case raft.BeginRequest:
		return w.askBegin(r)
	case raft.EndRequest:
		return w.askEnd(r)
	case raft.FetchRequest:
		return w.askFetch(r)
	case raft.SnapshotRequest:
		return w.askFetchSnapshot(r)
	case raft.AddVoterRequest:
		return w.askAddVoter(r)
	case raft.RemoveVoterRequest:
		return w.askRemoveVoter(r)
	case raft.UpdateVoterRequest:
		return w.askUpdateVoter(r)
	case raft.VersionsRequest:
		return w.askVersions(r)
	}
	panic(fmt.Sprintf("request %T is not one of the quorum", body))
}

// outcome reads what came back to a request that went to an address.
func (w translator) outcome(m raft.Message, addr string, resp kmsg.Response, err error) item {
	switch {
	case errors.Is(err, ErrUnsupportedVersion):
		return event{raft.Unanswered{Call: m.Call, Code: kerr.UnsupportedVersion}}
	case err != nil:
		return event{raft.Unanswered{Call: m.Call, Code: kerr.BrokerNotAvailable}}
	}
	body, raw, code := w.readAnswer(resp)
	if code != kerr.None {
		w.refused(m, addr, resp.Key(), code)
		return event{raft.Unanswered{Call: m.Call, Code: code}}
	}
	w.tellRefusedSelf(m, addr, body)
	return answered{raft.Answered{Call: m.Call, Body: body}, raw}
}

// refused tells that a peer would not look at a request.
func (w translator) refused(m raft.Message, addr string, api int16, code kerr.Code) {
	type from struct {
		addr string
		api  int16
		code kerr.Code
	}
	args := []any{"peer", m.To, "addr", addr, "api", kmsg.NameForKey(api), "error", code}
	if code == kerr.InconsistentClusterId {
		args = append(args, "cluster", w.clusterID) // the answer does not name the peer's; a request of the peer will
	}
	w.log.warn(from{addr, api, code}, "peer refused a request of the quorum", args...)
}

// readAnswer translates a response; code is the error at its top, or that it
// has not the shape it must have.
func (w translator) readAnswer(resp kmsg.Response) (body raft.Body, raw []byte, code kerr.Code) {
	switch r := resp.(type) {
	case *kmsg.VoteResponse:
		body, code = w.readVote(r)
	case *kmsg.BeginQuorumEpochResponse:
		body, code = w.readBegin(r)
	case *kmsg.EndQuorumEpochResponse:
		body, code = w.readEnd(r)
	case *kmsg.FetchResponse:
		body, raw, code = w.readFetch(r)
	case *kmsg.FetchSnapshotResponse:
		body, raw, code = w.readFetchSnapshot(r)
	case *kmsg.AddRaftVoterResponse:
		body = raft.ChangeAnswer{Err: kerr.Code(r.ErrorCode)}
	case *kmsg.RemoveRaftVoterResponse:
		body = raft.ChangeAnswer{Err: kerr.Code(r.ErrorCode)}
	case *kmsg.UpdateRaftVoterResponse:
		body, code = w.readUpdateVoter(r)
	case *kmsg.ApiVersionsResponse:
		body = readVersions(r)
	default:
		code = kerr.UnknownServerError
	}
	return body, raw, code
}

// answered is an answer of a peer with the bytes it brought.
type answered struct {
	ev  raft.Answered
	raw []byte
}

func (a answered) run(l *loop) {
	l.fetchedFrom(a.ev.Body)
	l.payload = a.raw
	a.ev.Body = l.n.cfg.heard(a.ev.Body)
	l.step(a.ev)
	l.payload = nil
}
