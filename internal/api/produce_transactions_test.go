package api

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/txn"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
)

// coordinator answers what produce asks of transactions.
type coordinator struct {
	asked  []string
	answer func(kafka.TopicPartition) kerr.Code // nil: agrees
}

func (c *coordinator) Ask(_ context.Context, a txn.Ability, t txn.Transaction, list []kafka.TopicPartition) (told []error) {
	verb := "verify"
	if t.Adds {
		verb = "add"
	}
	c.asked = append(c.asked, fmt.Sprintf("%s %s %d.%d %v", verb, t.ID, t.Producer, t.Epoch, list))
	for _, tp := range list {
		code := kerr.None
		if c.answer != nil {
			code = c.answer(tp)
		}
		told = append(told, a.Told(code))
	}
	return told
}

// wasAsked wants the questions since the last look.
func (c *coordinator) wasAsked(t *testing.T, what string, want ...string) {
	t.Helper()
	if !slices.Equal(c.asked, want) {
		t.Errorf("%s: asked %q, want %q", what, c.asked, want)
	}
	c.asked = nil
}

// newVerifyingRig has a broker that verifies transactions.
func newVerifyingRig(t *testing.T) *dataRig {
	bed := testbed.New(t, vfs.NewMem(), "/data", 1)
	bed.Verify = true
	return newDataRigOver(t, bed)
}

// finalize has the cluster at a transaction.version.
func (r *dataRig) finalize(version int16) {
	r.Apply(&metarec.FeatureLevelRecord{Name: image.TransactionVersion, FeatureLevel: version})
	r.Publish()
}

// inTransaction is a request of transactional id "app" with a batch of producer 7
// for each partition.
func inTransaction(id kafka.TopicID, epoch int16, sequence int32, partitions ...int32) *kmsg.ProduceRequest {
	b := func() []byte {
		return lines(batch.Options{Transactional: true, Producer: &batch.Producer{ID: 7, Epoch: epoch, Sequence: sequence}}, "v")
	}
	req := produceRequest(-1, "t", id, partitions[0], b())
	for _, n := range partitions[1:] {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = n, b()
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
	}
	req.TransactionID = kmsg.StringPtr("app")
	return req
}

// codes are those of the first topic's partitions.
func (r *dataRig) codes(c *coordinator, req *kmsg.ProduceRequest, version int16) (list []kerr.Code) {
	r.t.Helper()
	resp := readBack(r.t, do[*kmsg.ProduceResponse](r, r.produceAsking(c), req, version))
	for _, p := range resp.Topics[0].Partitions {
		list = append(list, kerr.Code(p.ErrorCode))
	}
	return list
}

func (r *dataRig) wantsCodes(what string, got []kerr.Code, want ...kerr.Code) {
	r.t.Helper()
	if !slices.Equal(got, want) {
		r.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// The coordinator is asked before the first batch of a transaction in a partition,
// about all of a request at once, and not again while the transaction is open there.
func TestTheFirstBatchOfATransactionIsVerified(t *testing.T) {
	r := newVerifyingRig(t)
	id := r.Topic("t", 3)
	for epoch, version := range []int16{3, 11, 12, 13, 12, 13} { // each begins a transaction of its own
		c, epoch := &coordinator{}, int16(epoch)
		verb := "verify"
		if epoch > 3 {
			verb = "add" // the producer leaves it to the leader
			r.finalize(2)
		}
		r.wantsCodes("first", r.codes(c, inTransaction(id, epoch, 0, 0, 1), version), kerr.None, kerr.None)
		c.wasAsked(t, "first", fmt.Sprintf("%s app 7.%d [{t 0} {t 1}]", verb, epoch))
		r.wantsCodes("another partition", r.codes(c, inTransaction(id, epoch, 0, 2), version), kerr.None)
		c.wasAsked(t, "another partition", fmt.Sprintf("%s app 7.%d [{t 2}]", verb, epoch))
		r.wantsCodes("next", r.codes(c, inTransaction(id, epoch, 1, 0, 1, 2), version), kerr.None, kerr.None, kerr.None)
		c.wasAsked(t, "next")
	}
}

// What the coordinator refuses is not appended; the rest of the request is.
func TestWhatIsNotVerifiedIsNotAppended(t *testing.T) {
	r := newVerifyingRig(t)
	id := r.Topic("t", 2)
	refuses := func(code kerr.Code) *coordinator {
		return &coordinator{answer: func(tp kafka.TopicPartition) kerr.Code {
			if tp.Partition == 0 {
				return code
			}
			return kerr.None
		}}
	}
	f := func(version int16, said, want kerr.Code) {
		t.Helper()
		r.wantsCodes(said.String(), r.codes(refuses(said), inTransaction(id, version, 0, 0), version), want)
	}
	f(10, kerr.TransactionAbortable, kerr.InvalidTxnState)
	f(11, kerr.TransactionAbortable, kerr.TransactionAbortable)
	f(12, kerr.TransactionAbortable, kerr.TransactionAbortable)
	f(9, kerr.CoordinatorLoadInProgress, kerr.NotEnoughReplicas)
	f(9, kerr.ProducerFenced, kerr.InvalidProducerEpoch)
	r.wantsCodes("one of two", r.codes(refuses(kerr.NetworkException), inTransaction(id, 20, 0, 0, 1), 11), kerr.NotEnoughReplicas, kerr.None)
	if a, b := r.Find("t", 0).Status().LogEnd, r.Find("t", 1).Status().LogEnd; a != 0 || b != 1 {
		t.Errorf("the logs end at %d and %d, want 0 and 1", a, b)
	}
}

// An answer that a marker has overtaken is of no use: the batch is refused.
func TestAMarkerOvertakesTheAnswer(t *testing.T) {
	r := newVerifyingRig(t)
	id := r.Topic("t", 1)
	c := &coordinator{answer: func(tp kafka.TopicPartition) kerr.Code {
		if _, err := r.Find("t", 0).EndTransaction(kafka.NoEpoch, batch.EndTxn{Producer: 7}, 0); err != nil {
			t.Error(err)
		}
		return kerr.None
	}}
	r.wantsCodes("overtaken", r.codes(c, inTransaction(id, 0, 0, 0), 11), kerr.InvalidTxnState)
}

// Without verification only those are asked about whom the leader has to add.
func TestWithoutVerificationWhoAddsIsStillAsked(t *testing.T) {
	r := newDataRig(t)
	r.finalize(2)
	id := r.Topic("t", 2)
	c := &coordinator{}
	r.wantsCodes("version 11", r.codes(c, inTransaction(id, 1, 0, 0), 11), kerr.None)
	c.wasAsked(t, "version 11")
	r.wantsCodes("version 12", r.codes(c, inTransaction(id, 1, 0, 1), 12), kerr.None)
	c.wasAsked(t, "version 12", "add app 7.1 [{t 1}]")
}

func TestTransactionalRequestsThatMakeNoSense(t *testing.T) {
	r := newVerifyingRig(t)
	id := r.Topic("t", 2)
	c := &coordinator{}
	nameless := inTransaction(id, 0, 0, 0, 1)
	nameless.TransactionID = nil
	nameless.Topics[0].Partitions[1].Records = lines(batch.Options{}, "plain")
	r.wantsCodes("no transactional id: all of the request", r.codes(c, nameless, 11), kerr.TransactionalIdAuthorizationFailed, kerr.TransactionalIdAuthorizationFailed)

	two := inTransaction(id, 0, 0, 0, 1)
	two.Topics[0].Partitions[1].Records = lines(batch.Options{Transactional: true, Producer: &batch.Producer{ID: 8}}, "v")
	r.wantsCodes("two producers", r.codes(c, two, 11), kerr.InvalidProducerIdMapping, kerr.InvalidProducerIdMapping)

	strange := inTransaction(id, 0, 0, 0, 1)
	strange.Topics[0].Partitions[0].Records = lines(batch.Options{Transactional: true}, "v")
	r.wantsCodes("no producer", r.codes(c, strange, 11), kerr.InvalidRecord, kerr.None)
	c.wasAsked(t, "strange", "verify app 7.0 [{t 1}]")

	elsewhere := inTransaction(id, 0, 0, 9)
	r.wantsCodes("no such partition", r.codes(c, elsewhere, 11), kerr.UnknownTopicOrPartition)
	c.wasAsked(t, "no such partition")
}
