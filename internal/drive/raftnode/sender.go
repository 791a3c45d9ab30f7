package raftnode

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/edge/transport"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// needs is the least version at which a request still means what it says. In
// older ones a field would be left out without a word: the peer would take a
// pre-vote for a vote (KIP-996), or have a new voter wait for a commit that takes
// its own fetch (KIP-1186).
func needs(req kmsg.Request) int16 {
	switch r := req.(type) {
	case *kmsg.VoteRequest:
		if len(r.Topics) == 1 && len(r.Topics[0].Partitions) == 1 && r.Topics[0].Partitions[0].PreVote {
			return 2
		}
	case *kmsg.AddRaftVoterRequest:
		if !r.AckWhenCommitted {
			return 1
		}
	}
	return 0
}

// peers is a Sender over connections of package transport.
type peers struct {
	dialer  *transport.Dialer
	pool    *transport.Pool
	timeout time.Duration
}

// OverTransport makes a Sender of a pool of connections. It must be a pool of
// the quorum's own: answers come in order, and a fetch may wait for half a
// second. The pool connects through the dialer, which so is a witness. A request
// without answer after timeout fails with its connection.
func OverTransport(pool *transport.Pool, dialer *transport.Dialer, timeout time.Duration) Sender {
	return &peers{dialer: dialer, pool: pool, timeout: timeout}
}

// Greet connects to an address, unless there is a connection.
func (p *peers) Greet(addr string) {
	if _, _, known := p.pool.Get(addr).Versions(int16(kmsg.Vote)); !known {
		ask := kmsg.NewPtrApiVersionsRequest()
		ask.ClientSoftwareName, ask.ClientSoftwareVersion = "ottla", "0"
		p.Send(0, addr, ask, func(kmsg.Response, error) {})
	}
}

// Send carries a request to an address. A peer whose versions are all too old for
// it never sees it: which it is, only the connection it goes out on can tell, for
// behind the address there may be another process than a moment ago.
func (p *peers) Send(_ kafka.NodeID, addr string, req kmsg.Request, done func(kmsg.Response, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
	p.pool.SendSince(ctx, addr, needs(req), req, func(resp kmsg.Response, err error) {
		cancel()
		if errors.Is(err, transport.ErrVersions) {
			err = fmt.Errorf("%w: %w", ErrUnsupportedVersion, err)
		}
		done(resp, err)
	})
}

var errRenewed = errors.New("a request went unanswered; connecting anew")

// Renew gives up the connection to an address.
func (p *peers) Renew(addr string) { p.pool.Get(addr).Disconnect(errRenewed) }
