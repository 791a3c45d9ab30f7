// Package isr takes the changes of in-sync sets that leaders on this broker wish
// for to the controller, and brings back what became of them (AlterPartition,
// KIP-497).
//
// One request is under way at a time, with all that was wished for meanwhile in
// the next one. Which set to wish for, and what an answer means to the high
// watermark, is decided in core/replica.
package isr

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/replica"
)

// Controller takes a request to the active controller and brings the answer.
type Controller interface {
	Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
}

// Config is what a Proposer is made of.
type Config struct {
	Self kafka.NodeID
	// Epoch is our broker epoch.
	Epoch      func() kafka.BrokerEpoch
	Controller Controller
	// Answer brings the outcome of a proposal.
	Answer func(kafka.TopicIDPartition, replica.Proposed)
	Log    *slog.Logger
}

// Proposer sends proposals to the controller.
type Proposer struct {
	cfg  Config
	wake chan struct{} // room for one

	mu sync.Mutex
	// wanted are proposals that have no answer yet, at most one for each partition
	// that this broker leads; a newer one takes the place of an older.
	wanted map[kafka.TopicIDPartition]*replica.Proposal
}

// New makes a proposer; Run lets it send.
func New(cfg Config) *Proposer {
	return &Proposer{cfg: cfg, wake: make(chan struct{}, 1), wanted: map[kafka.TopicIDPartition]*replica.Proposal{}}
}

// Propose asks for another ISR. It does not block, and may be called with the
// lock of a partition held.
func (p *Proposer) Propose(tp kafka.TopicIDPartition, wish *replica.Proposal) {
	p.mu.Lock()
	p.wanted[tp] = wish
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default: // awake already
	}
}

// retryAfter is the pause after a request that failed as a whole, as in Kafka.
const retryAfter = 50 * time.Millisecond

// requestTimeout is how long an answer may take. The controller answers once the
// change is committed.
const requestTimeout = 10 * time.Second

// Run sends proposals until ctx ends.
func (p *Proposer) Run(ctx context.Context) {
	for {
		batch := p.batch()
		if len(batch) == 0 {
			select {
			case <-ctx.Done():
				return
			case <-p.wake:
			}
			continue
		}
		err := p.send(ctx, batch)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		p.cfg.Log.Debug("changes of the ISR are not settled yet", "partitions", len(batch), "err", err)
		if !pause(ctx, retryAfter) {
			return
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// wish is one partition of a request.
type wish struct {
	tp       kafka.TopicIDPartition
	proposal *replica.Proposal
}

func (p *Proposer) batch() []wish {
	p.mu.Lock()
	defer p.mu.Unlock()
	batch := make([]wish, 0, len(p.wanted))
	for tp, proposal := range p.wanted {
		batch = append(batch, wish{tp, proposal})
	}
	return batch
}

// errUnsettled says that some partition is to be asked for again.
var errUnsettled = errors.New("the controller wants some to be asked for again")

// send sends one request and hands out the answers. An error means that some, or
// all, have to be sent again.
func (p *Proposer) send(ctx context.Context, batch []wish) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	got, err := p.cfg.Controller.Do(ctx, p.request(batch))
	if err != nil {
		return err
	}
	reply, ok := got.(*kmsg.AlterPartitionResponse)
	if !ok {
		return errors.New("the controller answered with something else")
	}
	if code := kerr.Code(reply.ErrorCode); code != kerr.None {
		return fmt.Errorf("the controller refuses all: %w", code)
	}
	return p.settle(batch, reply)
}

func (p *Proposer) request(batch []wish) *kmsg.AlterPartitionRequest {
	req := kmsg.NewPtrAlterPartitionRequest()
	req.BrokerID, req.BrokerEpoch = int32(p.cfg.Self), int64(p.cfg.Epoch())
	at := map[kafka.TopicID]int{}
	for _, w := range batch {
		i, ok := at[w.tp.Topic]
		if !ok {
			i = len(req.Topics)
			at[w.tp.Topic] = i
			t := kmsg.NewAlterPartitionRequestTopic()
			t.TopicID = w.tp.Topic
			req.Topics = append(req.Topics, t)
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, wanted(w))
	}
	return req
}

func wanted(w wish) kmsg.AlterPartitionRequestTopicPartition {
	one := kmsg.NewAlterPartitionRequestTopicPartition()
	one.Partition, one.LeaderEpoch, one.PartitionEpoch = int32(w.tp.Partition), int32(w.proposal.LeaderEpoch), w.proposal.Epoch
	for _, m := range w.proposal.ISR {
		member := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
		member.BrokerID, member.BrokerEpoch = int32(m.Node), int64(m.BrokerEpoch)
		one.NewEpochISR = append(one.NewEpochISR, member)
	}
	return one
}

func (p *Proposer) settle(batch []wish, reply *kmsg.AlterPartitionResponse) error {
	answers := make(map[kafka.TopicIDPartition]*kmsg.AlterPartitionResponseTopicPartition, len(batch))
	for i := range reply.Topics {
		t := &reply.Topics[i]
		for j := range t.Partitions {
			answers[kafka.TopicIDPartition{Topic: t.TopidID, Partition: kafka.PartitionID(t.Partitions[j].Partition)}] = &t.Partitions[j]
		}
	}
	var err error
	for _, w := range batch {
		answer := answers[w.tp]
		if answer == nil || !settles(kerr.Code(answer.ErrorCode)) {
			err = errUnsettled
			continue
		}
		p.done(w)
		p.cfg.Answer(w.tp, outcome(w, answer))
	}
	return err
}

// done forgets a proposal, unless a newer one has taken its place.
func (p *Proposer) done(w wish) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wanted[w.tp] == w.proposal {
		delete(p.wanted, w.tp)
	}
}

// settles tells whether an answer is final. NOT_CONTROLLER, which a controller
// gives that knows less than we do (KAFKA-14154), is one that is not.
func settles(code kerr.Code) bool {
	_, final := outcomes[code]
	return final
}

// outcomes is what the errors of a partition mean to its leader; others are to be
// asked for again.
var outcomes = map[kerr.Code]replica.Outcome{
	kerr.None:                    replica.Accepted,
	kerr.OperationNotAttempted:   replica.Declined,
	kerr.IneligibleReplica:       replica.Declined,
	kerr.UnknownTopicOrPartition: replica.Superseded,
	kerr.UnknownTopicId:          replica.Superseded,
	kerr.FencedLeaderEpoch:       replica.Superseded,
	kerr.InvalidUpdateVersion:    replica.Superseded,
	kerr.InvalidRequest:          replica.Superseded,
	kerr.NewLeaderElected:        replica.Superseded,
}

func outcome(w wish, answer *kmsg.AlterPartitionResponseTopicPartition) replica.Proposed {
	o := replica.Proposed{To: w.proposal, Outcome: outcomes[kerr.Code(answer.ErrorCode)]}
	if o.Outcome == replica.Accepted {
		o.Epoch = answer.PartitionEpoch
		for _, id := range answer.ISR {
			o.ISR = append(o.ISR, kafka.NodeID(id))
		}
	}
	return o
}
