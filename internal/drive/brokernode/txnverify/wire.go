package txnverify

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/txn"
)

// forBrokers is the first version of AddPartitionsToTxn that takes many
// transactions, and that only asks where it is told to.
const forBrokers = 4

// request writes a request.
func request(entries []*txn.Entry) *kmsg.AddPartitionsToTxnRequest {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	for _, e := range entries {
		t := kmsg.NewAddPartitionsToTxnRequestTransaction()
		t.TransactionalID, t.ProducerID, t.ProducerEpoch, t.VerifyOnly = e.ID, int64(e.Producer), e.Epoch, !e.Adds
		at := map[string]int{} // index in t.Topics
		for _, tp := range e.Partitions {
			i, known := at[tp.Topic]
			if !known {
				i = len(t.Topics)
				at[tp.Topic] = i
				topic := kmsg.NewAddPartitionsToTxnRequestTransactionTopic()
				topic.Topic = tp.Topic
				t.Topics = append(t.Topics, topic)
			}
			t.Topics[i].Partitions = append(t.Topics[i].Partitions, int32(tp.Partition))
		}
		req.Transactions = append(req.Transactions, t)
	}
	return req
}

// placed is a partition in a transaction.
type placed struct {
	id string
	tp kafka.TopicPartition
}

// codesIn are the codes of an answer.
func codesIn(resp *kmsg.AddPartitionsToTxnResponse) map[placed]kerr.Code {
	codes := map[placed]kerr.Code{}
	for _, t := range resp.Transactions {
		for _, topic := range t.Topics {
			for _, p := range topic.Partitions {
				tp := kafka.TopicPartition{Topic: topic.Topic, Partition: kafka.PartitionID(p.Partition)}
				codes[placed{t.TransactionalID, tp}] = kerr.Code(p.ErrorCode)
			}
		}
	}
	return codes
}
