package api

import (
	"context"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/raftnode"
	"github.com/ottla/ottla/internal/edge/transport"
)

// Quorum serves the requests of voters, observers and, for DescribeQuorum and
// changes of the voters, of anybody.
type Quorum interface {
	Handle(ctx context.Context, from raftnode.RequestInfo, req kmsg.Request, reply func(kmsg.Response))
}

// QuorumRoutes are the APIs of the quorum, in the order of their keys.
func QuorumRoutes(q Quorum) []Route {
	return []Route{
		quorumRoute[kmsg.FetchRequest](fetchesWithEpoch{q}, 4, 18),
		quorumRoute[kmsg.VoteRequest](q, 0, 2),
		quorumRoute[kmsg.BeginQuorumEpochRequest](q, 0, 1),
		quorumRoute[kmsg.EndQuorumEpochRequest](q, 0, 1),
		quorumRoute[kmsg.DescribeQuorumRequest](q, 0, 2).forwarded(),
		quorumRoute[kmsg.FetchSnapshotRequest](q, 0, 1),
		quorumRoute[kmsg.AddRaftVoterRequest](q, 0, 1).forwarded(),
		quorumRoute[kmsg.RemoveRaftVoterRequest](q, 0, 0).forwarded(),
		quorumRoute[kmsg.UpdateRaftVoterRequest](q, 0, 0),
	}
}

// fetchesWithEpoch refuses a Fetch before the first version that tells the epoch of
// the last record, without which a replica's divergence cannot be found (KIP-595).
type fetchesWithEpoch struct{ Quorum }

// Handle answers old versions itself: before v7 they have no place for an error and
// get an empty answer, as from Kafka.
func (q fetchesWithEpoch) Handle(ctx context.Context, from raftnode.RequestInfo, req kmsg.Request, reply func(kmsg.Response)) {
	if req.GetVersion() < 12 {
		resp := kmsg.NewPtrFetchResponse()
		resp.ErrorCode = int16(kerr.InvalidRequest)
		reply(resp)
		return
	}
	q.Quorum.Handle(ctx, from, req, reply)
}

func quorumRoute[T any, P body[T]](q Quorum, minVersion, maxVersion int16) Route {
	return later(minVersion, maxVersion, func(c Context, req P, reply func(kmsg.Response)) {
		q.Handle(c.Ctx, raftnode.RequestInfo{Listener: c.Conn.Listener}, req, reply)
	}).on(OnController)
}

// Oneself is how a node's requests to itself appear to its handlers.
func Oneself(listener, clientID string) transport.Caller {
	conn := &transport.ConnInfo{InProcess: true, Listener: listener, ClientHost: net.IPv4(127, 0, 0, 1).String(), Principal: "User:ANONYMOUS"}
	return transport.Caller{ConnInfo: conn, ClientID: clientID}
}
