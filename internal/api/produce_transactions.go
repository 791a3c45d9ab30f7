package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/txn"
	"github.com/ottla/ottla/internal/edge/storage"
)

// TxnVerifier asks the coordinator of a transaction about partitions that are to
// get its first batch, and waits for the answer: what the producer of each is to
// be told, nil for those that may be written to.
type TxnVerifier interface {
	Ask(ctx context.Context, a txn.Ability, t txn.Transaction, partitions []kafka.TopicPartition) []error
}

// warrants are what the transactional batches of a request may be appended with. Nil
// is that of a request without any.
type warrants struct {
	refusal error // of the whole request
	each    map[*kmsg.ProduceRequestTopicPartition]warrant
}

// warrant is one batch's.
type warrant struct {
	guard storage.Guard
	err   error
}

// refused is why no batch of the request may be appended.
func (w *warrants) refused() error {
	if w == nil {
		return nil
	}
	return w.refusal
}

func (w *warrants) of(in *kmsg.ProduceRequestTopicPartition) warrant {
	if w == nil {
		return warrant{}
	}
	return w.each[in]
}

// seek finds out what the transactional batches of a request need, and asks their
// coordinator where a transaction begins in a partition. It returns when there is
// an answer: requests of a connection take effect in their order.
func (w *produceWait) seek(req *kmsg.ProduceRequest) {
	if !anyTransactional(req) {
		return
	}
	first, some, err := transactionIn(req)
	ability := txn.AbilityOf(req.Version)
	version, _ := w.handler.parts.Image().Features().Get(image.TransactionVersion)
	first.Adds = ability.Adds(version)
	switch {
	case err != nil:
		w.warrants = &warrants{refusal: err}
		return
	case !some || !first.Adds && !w.handler.parts.Verifies():
		return
	}
	w.warrants = &warrants{each: map[*kmsg.ProduceRequestTopicPartition]warrant{}}
	var asked []*kmsg.ProduceRequestTopicPartition
	var named []kafka.TopicPartition
	for in := range transactionalBatches(req) {
		part, err := w.find(req, in.topic, in.Partition)
		if err != nil {
			continue // told when the batch would be appended
		}
		guard, err := part.BeginTransaction(storage.Attempt{
			Producer: first.Producer, Epoch: first.Epoch, Sequence: in.header.BaseSequence, Adds: first.Adds,
		})
		w.warrants.each[in.ProduceRequestTopicPartition] = warrant{guard, err}
		if guard != 0 {
			asked, named = append(asked, in.ProduceRequestTopicPartition), append(named, part.Name)
		}
	}
	if len(asked) == 0 {
		return
	}
	for i, err := range w.handler.verifier.Ask(w.request.Ctx, ability, first, named) {
		w.warrants.each[asked[i]] = warrant{w.warrants.each[asked[i]].guard, err}
	}
}

// anyTransactional is asked of every produce, and says of most that there is
// nothing to seek.
func anyTransactional(req *kmsg.ProduceRequest) bool {
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			if batch.IsTransactional(req.Topics[i].Partitions[j].Records) {
				return true
			}
		}
	}
	return false
}

// transactionalBatch is a partition of a request with a transactional batch.
type transactionalBatch struct {
	*kmsg.ProduceRequestTopicPartition
	topic  *kmsg.ProduceRequestTopic
	header batch.Header
}

// transactionalBatches goes through the batches of a request that belong to a
// transaction. What cannot be read is left to the checks before the append.
func transactionalBatches(req *kmsg.ProduceRequest) func(yield func(transactionalBatch) bool) {
	return func(yield func(transactionalBatch) bool) {
		for i := range req.Topics {
			t := &req.Topics[i]
			for j := range t.Partitions {
				p := &t.Partitions[j]
				if !batch.IsTransactional(p.Records) {
					continue
				}
				h, err := batch.ParseHeader(p.Records)
				if err == nil && h.HasProducer() && !yield(transactionalBatch{p, t, h}) {
					return
				}
			}
		}
	}
}

// transactionIn is the one transaction that the transactional batches of a request
// belong to, if there are some.
func transactionIn(req *kmsg.ProduceRequest) (first txn.Transaction, some bool, err error) {
	for b := range transactionalBatches(req) {
		t := txn.Transaction{Producer: b.header.ProducerID, Epoch: b.header.ProducerEpoch}
		switch {
		case req.TransactionID == nil:
			return t, true, kerr.Errorf(kerr.TransactionalIdAuthorizationFailed, "transactional batches in a request without a transactional id")
		case !some:
			t.ID = *req.TransactionID
			first, some = t, true
		case t.Producer != first.Producer || t.Epoch != first.Epoch:
			return first, true, kerr.Errorf(kerr.InvalidProducerIdMapping, "transactional batches of more than one producer id or epoch")
		}
	}
	return first, some, nil
}
