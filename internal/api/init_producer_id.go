package api

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// initProducerID answers InitProducerId for idempotent producers: a new id with
// epoch 0, whatever id the client had; only half of what it had is refused
// (KIP-360). Transactions are not served; their
// clients get an error that they do not retry.
type initProducerID struct{ ids *ProducerIDs }

func (h initProducerID) serve(c Context, req *kmsg.InitProducerIDRequest, reply func(kmsg.Response)) {
	switch {
	case (req.ProducerID == int64(kafka.NoProducer)) != (req.ProducerEpoch == noProducerEpoch):
		reply(producerIDAnswer(kafka.NoProducer, kerr.InvalidRequest))
	case req.TransactionalID == nil:
		h.ids.next(func(id kafka.ProducerID, err error) { reply(producerIDAnswer(id, err)) })
	case *req.TransactionalID == "":
		reply(producerIDAnswer(kafka.NoProducer, kerr.InvalidRequest))
	default:
		reply(producerIDAnswer(kafka.NoProducer, kerr.UnsupportedVersion))
	}
}

// noProducerEpoch is sent by who has no producer id, and in versions below 3,
// which know neither.
const noProducerEpoch int16 = -1

func producerIDAnswer(id kafka.ProducerID, err error) kmsg.Response {
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = int16(kerr.Of(err)), int64(id), -1
	if err == nil {
		resp.ProducerEpoch = 0
	}
	return resp
}

// Controller takes a request to the active controller.
type Controller interface {
	Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
}

// allocateLimit is how long a client waits for a block of ids before it is told
// to try again.
const allocateLimit = 10 * time.Second

// ProducerIDs hands out producer ids from blocks that the controller allocates
// (KIP-730). While a block is on its way those who ask wait in a list; it is
// bounded by the requests that all connections may have outstanding.
type ProducerIDs struct {
	controller Controller
	self       kafka.NodeID
	epoch      func() kafka.BrokerEpoch

	ctx  context.Context // ends with Close
	stop context.CancelFunc

	mu      sync.Mutex
	at, end kafka.ProducerID // what is left of the block
	waiting []func(kafka.ProducerID, error)
	asking  bool // allocate runs; it serves all who wait
	work    sync.WaitGroup
}

// NewProducerIDs makes a source of ids; epoch tells the broker epoch of this
// node's registration.
func NewProducerIDs(c Controller, self kafka.NodeID, epoch func() kafka.BrokerEpoch) *ProducerIDs {
	p := &ProducerIDs{controller: c, self: self, epoch: epoch}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// Close gives up an allocation under way, which answers all who wait for one,
// and waits for its end. Nobody may ask for an id any more.
func (p *ProducerIDs) Close() {
	p.stop()
	p.work.Wait()
}

// next calls done with an id, or with an error that clients retry; perhaps
// before it returns.
func (p *ProducerIDs) next(done func(kafka.ProducerID, error)) {
	p.mu.Lock()
	if p.at < p.end && !p.asking {
		id := p.at
		p.at++
		p.mu.Unlock()
		done(id, nil)
		return
	}
	p.waiting = append(p.waiting, done)
	if !p.asking {
		p.asking = true
		p.work.Go(p.allocate)
	}
	p.mu.Unlock()
}

// allocate gets blocks until nobody waits, or one cannot be had.
func (p *ProducerIDs) allocate() {
	for {
		first, n, err := p.block()
		p.mu.Lock()
		if err != nil {
			failed := p.waiting
			p.waiting, p.asking = nil, false
			p.mu.Unlock()
			for _, done := range failed {
				done(kafka.NoProducer, kerr.CoordinatorLoadInProgress)
			}
			return
		}
		p.at, p.end = first, first+n
		served := p.waiting[:min(int64(len(p.waiting)), int64(n))]
		p.waiting = p.waiting[len(served):]
		p.at += kafka.ProducerID(len(served))
		p.asking = len(p.waiting) > 0
		more := p.asking
		p.mu.Unlock()
		for i, done := range served {
			done(first+kafka.ProducerID(i), nil)
		}
		if !more {
			return
		}
	}
}

// block asks the controller for a block.
func (p *ProducerIDs) block() (first, n kafka.ProducerID, err error) {
	ctx, cancel := context.WithTimeout(p.ctx, allocateLimit)
	defer cancel()
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = int32(p.self), int64(p.epoch())
	got, err := p.controller.Do(ctx, req)
	if err != nil {
		return 0, 0, err
	}
	resp, ok := got.(*kmsg.AllocateProducerIDsResponse)
	switch {
	case !ok:
		return 0, 0, errors.New("the controller answered with something else")
	case resp.ErrorCode != 0:
		return 0, 0, kerr.Code(resp.ErrorCode)
	case resp.ProducerIDLen <= 0 || resp.ProducerIDStart < 0 || resp.ProducerIDStart > math.MaxInt64-int64(resp.ProducerIDLen):
		return 0, 0, errors.New("the controller answered with an empty block")
	}
	return kafka.ProducerID(resp.ProducerIDStart), kafka.ProducerID(resp.ProducerIDLen), nil
}
