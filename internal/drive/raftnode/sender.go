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

// preVoteVersion is the first version of Vote that tells a pre-vote from a
// vote. In older ones the field would be left out without a word, and the peer
// would cast its real vote (KIP-996).
const preVoteVersion = 2

// peers is a Sender over connections of package transport.
type peers struct {
	pool    *transport.Pool
	timeout time.Duration
}

// OverTransport makes a Sender of a pool of connections. It must be a pool of
// the quorum's own: answers come in order, and a fetch may wait for half a
// second. A request without answer after timeout fails with its connection.
func OverTransport(pool *transport.Pool, timeout time.Duration) Sender {
	return &peers{pool: pool, timeout: timeout}
}

// Send carries a request to an address.
func (p *peers) Send(_ kafka.NodeID, addr string, req kmsg.Request, done func(kmsg.Response, error)) {
	if vote, ok := req.(*kmsg.VoteRequest); ok && isPreVote(vote) {
		p.sendPreVote(addr, req, done)
		return
	}
	p.send(addr, req, done)
}

func isPreVote(r *kmsg.VoteRequest) bool {
	return len(r.Topics) == 1 && len(r.Topics[0].Partitions) == 1 && r.Topics[0].Partitions[0].PreVote
}

// sendPreVote makes sure first that the peer knows pre-votes.
func (p *peers) sendPreVote(addr string, req kmsg.Request, done func(kmsg.Response, error)) {
	if _, newest, known := p.pool.Get(addr).Versions(req.Key()); known {
		p.sendIf(newest >= preVoteVersion, addr, req, done)
		return
	}
	ask := kmsg.NewPtrApiVersionsRequest()
	ask.ClientSoftwareName, ask.ClientSoftwareVersion = "ottla", "0"
	p.send(addr, ask, func(_ kmsg.Response, err error) {
		if err != nil {
			done(nil, err)
			return
		}
		_, newest, _ := p.pool.Get(addr).Versions(req.Key())
		p.sendIf(newest >= preVoteVersion, addr, req, done)
	})
}

func (p *peers) sendIf(known bool, addr string, req kmsg.Request, done func(kmsg.Response, error)) {
	if !known {
		go done(nil, fmt.Errorf("pre-vote to %s: %w", addr, ErrUnsupportedVersion)) // ends with done
		return
	}
	p.send(addr, req, done)
}

func (p *peers) send(addr string, req kmsg.Request, done func(kmsg.Response, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
	p.pool.Send(ctx, addr, req, func(resp kmsg.Response, err error) {
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
