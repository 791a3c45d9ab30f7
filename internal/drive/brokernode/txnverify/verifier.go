// Package txnverify asks transaction coordinators for the leaders of this broker
// (KIP-890): does a partition belong to the transaction of a producer, or, for
// producers that leave that to the leader, please add it. What is asked together,
// and what an answer means, is decided in core/txn.
package txnverify

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/txn"
	"github.com/ottla/ottla/internal/edge/transport"
)

// Sender sends requests to other brokers; *transport.Pool is one.
type Sender interface {
	SendSince(ctx context.Context, addr string, least int16, req kmsg.Request, done func(kmsg.Response, error))
}

// Config is what a Verifier is made of.
type Config struct {
	Self     kafka.NodeID
	Listener string              // where other brokers are reached
	Image    func() *image.Image // tells who coordinates
	Peers    Sender
	// Timeout bounds a request (request.timeout.ms).
	Timeout time.Duration
	// Pause is how long to wait before a question is asked again whose transaction
	// before has not ended quite yet, and Patience for how long it is asked again
	// (add.partitions.to.txn.retry.backoff.ms and .max.ms).
	Pause, Patience time.Duration
	Log             *slog.Logger
}

// Verifier asks coordinators. Its methods may be called from many goroutines.
type Verifier struct {
	cfg     Config
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	metrics Metrics

	mu   sync.Mutex
	desk txn.Desk
}

// New makes a verifier; nothing runs until somebody asks.
func New(c Config) *Verifier {
	v := &Verifier{cfg: c}
	v.ctx, v.stop = context.WithCancel(context.Background())
	return v
}

// Close answers all who wait, with an error that producers retry. Requests in
// flight end with the connections they are on.
func (v *Verifier) Close() { v.stop() }

// Ask asks about partitions of a transaction and waits for the answer: what the
// producer of each is to be told, in their order, nil for those that it may write
// to. When ctx ends nobody is there to be told any more.
func (v *Verifier) Ask(ctx context.Context, a txn.Ability, t txn.Transaction, partitions []kafka.TopicPartition) []error {
	began := time.Now()
	codes := v.ask(ctx, t, partitions)
	for time.Since(began) < v.cfg.Patience && v.askAgain(ctx, t, partitions, codes) {
	}
	v.metrics.Took.Saw(time.Since(began))
	told := make([]error, len(codes))
	for i, code := range codes {
		if told[i] = a.Told(code); told[i] != nil {
			v.metrics.Failed.Add(1)
		}
	}
	return told
}

// askAgain asks, after a pause, about those partitions for which another answer is
// to be expected, and puts it in place of the last one. It tells whether it has.
func (v *Verifier) askAgain(ctx context.Context, t txn.Transaction, partitions []kafka.TopicPartition, codes []kerr.Code) bool {
	var at []int
	var open []kafka.TopicPartition
	for i, code := range codes {
		if t.Again(code) {
			at, open = append(at, i), append(open, partitions[i])
		}
	}
	if len(open) == 0 || !v.rest(ctx) {
		return false
	}
	for i, code := range v.ask(ctx, t, open) {
		codes[at[i]] = code
	}
	return true
}

// rest pauses before another question; false when there is none to be asked any
// more.
func (v *Verifier) rest(ctx context.Context) bool {
	pause := time.NewTimer(v.cfg.Pause)
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-ctx.Done():
	case <-v.ctx.Done():
	}
	return false
}

// ask is one question and its answer.
func (v *Verifier) ask(ctx context.Context, t txn.Transaction, partitions []kafka.TopicPartition) []kerr.Code {
	coordinator, ok := v.coordinator(t.ID)
	if !ok {
		return all(partitions, kerr.CoordinatorNotAvailable)
	}
	got := make(chan []kerr.Code, 1)
	v.mu.Lock()
	v.desk.Ask(coordinator, &txn.Question{Transaction: t, Partitions: partitions, Token: got})
	v.mu.Unlock()
	v.send(coordinator)
	select {
	case codes := <-got:
		return codes
	case <-ctx.Done():
	case <-v.ctx.Done():
	}
	return all(partitions, kerr.NetworkException)
}

func all(partitions []kafka.TopicPartition, code kerr.Code) []kerr.Code {
	codes := make([]kerr.Code, len(partitions))
	for i := range codes {
		codes[i] = code
	}
	return codes
}

// coordinator finds the broker that coordinates a transactional id. This node
// coordinates none.
func (v *Verifier) coordinator(id string) (kafka.NodeID, bool) {
	img := v.cfg.Image()
	topic, ok := img.TopicNamed(kafka.TransactionStateTopic)
	if !ok {
		return kafka.NoNode, false
	}
	p, ok := topic.Partitions.Get(kafka.PartitionID(kafka.CoordinatedBy(id, int32(topic.Partitions.Len()))))
	if !ok || p.Leader == kafka.NoNode || p.Leader == v.cfg.Self {
		return kafka.NoNode, false
	}
	return p.Leader, true
}

// send sends the next request to a coordinator, if there is one to be sent.
func (v *Verifier) send(coordinator kafka.NodeID) {
	v.mu.Lock()
	next := v.desk.Next(coordinator)
	v.mu.Unlock()
	if next == nil {
		return
	}
	addr, ok := v.address(coordinator)
	if !ok {
		v.answered(coordinator, func(string, kafka.TopicPartition) kerr.Code { return kerr.CoordinatorNotAvailable })
		return
	}
	ctx, cancel := context.WithTimeout(v.ctx, v.cfg.Timeout)
	v.cfg.Peers.SendSince(ctx, addr, forBrokers, request(next), func(resp kmsg.Response, err error) {
		cancel()
		v.answered(coordinator, v.said(coordinator, resp, err))
	})
}

func (v *Verifier) address(id kafka.NodeID) (string, bool) {
	b, ok := v.cfg.Image().Broker(id)
	if !ok || b.Fenced {
		return "", false
	}
	e, ok := b.Endpoint(v.cfg.Listener)
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))), ok
}

// answered tells all who have asked, and sends what was asked meanwhile.
func (v *Verifier) answered(coordinator kafka.NodeID, code answer) {
	v.mu.Lock()
	answers := v.desk.Answered(coordinator, code)
	v.mu.Unlock()
	for _, a := range answers {
		a.Token.(chan []kerr.Code) <- a.Codes // has room
	}
	if v.ctx.Err() == nil {
		v.send(coordinator)
	}
}

// answer gives what a coordinator said of a partition in a transaction.
type answer = func(id string, tp kafka.TopicPartition) kerr.Code

// said reads an answer.
func (v *Verifier) said(coordinator kafka.NodeID, resp kmsg.Response, err error) answer {
	whole := func(code kerr.Code) answer {
		return func(string, kafka.TopicPartition) kerr.Code { return code }
	}
	switch {
	case errors.Is(err, transport.ErrVersions):
		// It is of a release that knows nothing of all this, and neither do its
		// producers: they have added the partition themselves.
		v.cfg.Log.Debug("a transaction coordinator cannot be asked", "coordinator", int32(coordinator), "err", err)
		return whole(kerr.None)
	case err != nil:
		v.cfg.Log.Debug("a transaction coordinator does not answer", "coordinator", int32(coordinator), "err", err)
		return whole(kerr.NetworkException)
	}
	got, ok := resp.(*kmsg.AddPartitionsToTxnResponse)
	switch {
	case !ok:
		return whole(kerr.NetworkException)
	case got.ErrorCode != 0:
		v.cfg.Log.Warn("a transaction coordinator refuses to answer", "coordinator", int32(coordinator), "err", kerr.Code(got.ErrorCode))
		return whole(kerr.Code(got.ErrorCode))
	}
	codes := codesIn(got)
	return func(id string, tp kafka.TopicPartition) kerr.Code {
		code, ok := codes[placed{id, tp}]
		if !ok {
			return kerr.NetworkException // it is not known what happened to it
		}
		return code
	}
}
