package raftnode

import (
	"context"
	"fmt"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// RequestInfo says how a request came in.
type RequestInfo struct {
	// Listener is the name of the listener it came in on, upper case: leaders
	// are named by their address for it.
	Listener string
}

// Handle answers a request of a peer or, for DescribeQuorum, of anybody: Vote,
// BeginQuorumEpoch, EndQuorumEpoch, Fetch of the metadata topic, FetchSnapshot,
// AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter, DescribeQuorum. reply is called once, now or later, from any goroutine. The
// request may not be used again before that. Handle waits while the inbox is
// full, at most until ctx ends.
func (n *Node) Handle(ctx context.Context, from RequestInfo, req kmsg.Request, reply func(kmsg.Response)) {
	var it item
	queue := n.inbox
	switch req := req.(type) {
	case *kmsg.DescribeQuorumRequest:
		it, queue = &describeQuorum{req: req, reply: reply}, n.outer
	default:
		body, refusal := n.wire.receive(req)
		if refusal != nil {
			reply(refusal)
			return
		}
		if n.stranger(body) {
			queue = n.outer
		}
		r := received{body, func(a raft.Body, raw []byte) {
			n.wire.tellRefusedUpdate(body, a)
			reply(respond(from, req, a, raw))
		}}
		if it = r; isNews(body) {
			it = n.announce(r)
		}
	}
	select {
	case queue <- it:
		if n.ended() {
			n.emptyInbox() // the loop may not have seen it
		}
		return
	case <-n.done:
	case <-ctx.Done():
	}
	if a, waits := it.(*announcement); waits {
		a.drop(n)
	}
	reply(n.unavailable(from, req))
}

// received is a request of a peer.
type received struct {
	body  raft.Body
	reply func(raft.Body, []byte)
}

func (r received) run(l *loop) {
	if !l.holds(r) {
		r.receive(l)
	}
}

// receive hands the request to the core.
func (r received) receive(l *loop) {
	if l.fault != nil {
		r.refuse(l.n)
		return
	}
	l.lastCall++
	l.calls[l.lastCall] = r
	l.step(raft.Received{Call: l.lastCall, Body: r.body})
}

// refuse answers that this node cannot look at the request any more.
func (r received) refuse(n *Node) {
	r.reply(refusalOf(r.body, kerr.BrokerNotAvailable, n.View()), nil)
}

// receive translates a request, or gives the response that refuses it.
func (w translator) receive(req kmsg.Request) (raft.Body, kmsg.Response) {
	switch r := req.(type) {
	case *kmsg.VoteRequest:
		return w.receiveVote(r)
	case *kmsg.BeginQuorumEpochRequest:
		return w.receiveBegin(r)
	case *kmsg.EndQuorumEpochRequest:
		return w.receiveEnd(r)
	case *kmsg.FetchRequest:
		return w.receiveFetch(r)
	case *kmsg.FetchSnapshotRequest:
		return w.receiveFetchSnapshot(r)
	case *kmsg.AddRaftVoterRequest:
		return w.receiveAddVoter(r)
	case *kmsg.RemoveRaftVoterRequest:
		return w.receiveRemoveVoter(r)
	case *kmsg.UpdateRaftVoterRequest:
		return w.receiveUpdateVoter(r)
	}
	panic(fmt.Sprintf("request %T is not one of the quorum", req))
}

// respond translates an answer of the core.
func respond(from RequestInfo, req kmsg.Request, body raft.Body, raw []byte) kmsg.Response {
	switch a := body.(type) {
	case raft.VoteAnswer:
		return respondVote(from, req.(*kmsg.VoteRequest), a)
	case raft.BeginAnswer:
		return respondBegin(from, req.(*kmsg.BeginQuorumEpochRequest), a)
	case raft.EndAnswer:
		return respondEnd(from, req.(*kmsg.EndQuorumEpochRequest), a)
	case raft.FetchAnswer:
		return respondFetch(from, req.(*kmsg.FetchRequest), a, raw)
	case raft.SnapshotAnswer:
		return respondFetchSnapshot(from, req.(*kmsg.FetchSnapshotRequest), a, raw)
	case raft.UpdateVoterAnswer:
		return respondUpdateVoter(from, req.(*kmsg.UpdateRaftVoterRequest), a)
	case raft.ChangeAnswer:
		if r, adds := req.(*kmsg.AddRaftVoterRequest); adds {
			return respondAddVoter(r, a)
		}
		return respondRemoveVoter(req.(*kmsg.RemoveRaftVoterRequest), a)
	}
	panic(fmt.Sprintf("answer %T is not one of the quorum", body))
}

// unavailable answers a request that this node cannot look at any more.
func (n *Node) unavailable(from RequestInfo, req kmsg.Request) kmsg.Response {
	if d, ok := req.(*kmsg.DescribeQuorumRequest); ok {
		return refuseDescribe(d, kerr.BrokerNotAvailable, "the node is stopping")
	}
	body, refusal := n.wire.receive(req)
	if refusal != nil {
		return refusal
	}
	return respond(from, req, refusalOf(body, kerr.BrokerNotAvailable, n.View()), nil)
}

// refusalOf is an answer that says nothing but an error.
func refusalOf(body raft.Body, code kerr.Code, v *View) raft.Body {
	return raft.Refuse(body, code, raft.Hint{Epoch: v.Epoch, Leader: v.Leader, Endpoints: v.LeaderEndpoints})
}
