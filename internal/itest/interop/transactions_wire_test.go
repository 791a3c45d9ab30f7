package interop

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/itest"
)

// app is a transactional producer that is played request by request.
type app struct {
	b        *book
	cl       *kgo.Client
	id       string
	producer int64
	epoch    int16
	sequence map[int32]int32
}

// classic are the newest versions of a producer that adds its partitions itself.
func classic(produce int16) *kversion.Versions {
	v := kversion.Stable()
	for key, newest := range map[int16]int16{0: produce, 26: 4, 28: 4} { // Produce, EndTxn, TxnOffsetCommit
		v.SetMaxKeyVersion(key, newest)
	}
	return v
}

// newApp initializes a producer.
func (b *book) newApp(id string, opts ...kgo.Opt) *app {
	b.p.Helper()
	a := &app{b: b, cl: b.client(opts...), id: id}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = &id, 600_000, -1, -1
	itest.Eventually(b.p, func() error {
		resp, err := ask[*kmsg.InitProducerIDResponse](a.cl, req)
		if err != nil {
			return err
		}
		a.producer, a.epoch, a.sequence = resp.ProducerID, resp.ProducerEpoch, map[int32]int32{}
		return code(resp.ErrorCode)
	})
	return a
}

// ask sends a request to whoever it is for.
func ask[R kmsg.Response](to interface {
	Request(context.Context, kmsg.Request) (kmsg.Response, error)
}, req kmsg.Request) (R, error) {
	ctx, cancel := bounded()
	defer cancel()
	resp, err := to.Request(ctx, req)
	if err != nil {
		var none R
		return none, err
	}
	return resp.(R), nil
}

// code is an error, or nil for none.
func code(c int16) error {
	if c == 0 {
		return nil
	}
	return kerr.Code(c)
}

// write sends one record to the leader of a partition, and gives what it answers.
func (a *app) write(n int32, text string) (offset int64, err error) {
	a.b.p.Helper()
	partitions, err := a.b.c.Node(1).Partitions(txnTopic)
	if err != nil {
		return 0, err
	}
	w := batch.NewBuilder(batch.Options{Transactional: true, Producer: &batch.Producer{
		ID: kafka.ProducerID(a.producer), Epoch: a.epoch, Sequence: a.sequence[n],
	}})
	w.Add(1_700_000_000_000, nil, []byte(text))
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.TopicID = txnTopic, a.b.topicID()
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = n, w.Build(nil)
	topic.Partitions = append(topic.Partitions, part)
	req := kmsg.NewPtrProduceRequest()
	req.TransactionID, req.Acks, req.TimeoutMillis, req.Topics = &a.id, -1, 30_000, append(req.Topics, topic)
	for _, p := range partitions {
		if p.Partition != n {
			continue
		}
		resp, err := ask[*kmsg.ProduceResponse](a.cl.Broker(int(p.Leader)), req)
		if err != nil {
			return 0, err
		}
		got := resp.Topics[0].Partitions[0]
		if err := code(got.ErrorCode); err != nil {
			return 0, err
		}
		a.sequence[n]++
		return got.BaseOffset, nil
	}
	return 0, fmt.Errorf("no partition %d", n)
}

func (b *book) topicID() [16]byte {
	b.p.Helper()
	ctx, cancel := bounded()
	defer cancel()
	topics, err := kadm.NewClient(b.plain).ListTopics(ctx, txnTopic)
	if err != nil {
		b.p.Fatal(err)
	}
	return topics[txnTopic].ID
}

// end ends the transaction.
func (a *app) end(commit bool) {
	a.b.p.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = a.id, a.producer, a.epoch, commit
	itest.Eventually(a.b.p, func() error {
		resp, err := ask[*kmsg.EndTxnResponse](a.cl, req)
		if err != nil {
			return err
		}
		return code(resp.ErrorCode)
	})
}

// refusals writes to a leader of ours what does not belong to a transaction: it is
// refused with the code that the version knows, unless verification is switched off;
// then it hangs until somebody writes a marker by hand.
func (b *book) refusals() {
	b.p.Helper()
	const off = "transaction.partition.verification.enable"
	for version, want := range map[int16]kerr.Code{10: kerr.InvalidTxnState, 11: kerr.TransactionAbortable, 13: kerr.TransactionAbortable} {
		a := b.newApp(fmt.Sprintf("stray-%d", version), kgo.MaxVersions(classic(version)))
		if _, err := a.write(0, "never"); kerr.Of(err) != want {
			b.p.Errorf("version %d: a record that is in no transaction: %v, want %v", version, err, want)
		}
	}
	a := b.newApp("hanging", kgo.MaxVersions(classic(11)))
	b.configure(off, kadm.SetConfig)
	t := &transaction{producer: -1}
	itest.Eventually(b.p, func() error {
		offset, err := a.write(0, "hanging")
		if err == nil {
			b.enter(0, line{"hanging", t, offset})
		}
		return err
	})
	b.configure(off, kadm.DeleteConfig)
	b.verifyCommitted("a transaction hangs")
	ctx, cancel := bounded()
	defer cancel()
	var set kadm.TopicsSet
	set.Add(txnTopic, 0)
	done, err := kadm.NewClient(b.plain).WriteTxnMarkers(ctx, kadm.TxnMarkers{ProducerID: a.producer, ProducerEpoch: a.epoch, Topics: set})
	if err != nil {
		b.p.Fatal(err)
	}
	done.EachPartition(func(r kadm.TxnMarkersPartitionResponse) {
		if r.Err != nil {
			b.p.Errorf("a marker by hand: %v", r.Err)
		}
	})
	t.ended = true
	b.verify("a hanging transaction was aborted by hand")
}

// configure switches a setting of all brokers off, or back to its default.
func (b *book) configure(key string, op kadm.IncrementalOp) {
	b.p.Helper()
	ctx, cancel := bounded()
	defer cancel()
	got, err := kadm.NewClient(b.plain).AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Op: op, Name: key, Value: kmsg.StringPtr("false")}})
	for _, r := range got {
		err = errors.Join(err, r.Err)
	}
	if err != nil {
		b.p.Fatal(err)
	}
}

// offsets commits an offset of a group in a transaction, with a group coordinator of
// Apache Kafka, has one of ours take over, and ends the transaction: its marker makes
// the offset count.
func (b *book) offsets() {
	b.p.Helper()
	const groups = "__consumer_offsets"
	for _, commit := range []bool{true, false} {
		id := fmt.Sprintf("group-%v", commit)
		b.lead(groups, 3)
		a := b.newApp(id, kgo.MaxVersions(classic(11)))
		add := kmsg.NewPtrAddOffsetsToTxnRequest()
		add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = a.id, a.producer, a.epoch, id
		itest.Eventually(b.p, func() error {
			resp, err := ask[*kmsg.AddOffsetsToTxnResponse](a.cl, add)
			if err != nil {
				return err
			}
			return code(resp.ErrorCode)
		})
		part := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		part.Offset, part.LeaderEpoch = 42, -1
		req := kmsg.NewPtrTxnOffsetCommitRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group, req.Generation = a.id, a.producer, a.epoch, id, -1
		req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: txnTopic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{part}}}
		itest.Eventually(b.p, func() error {
			resp, err := ask[*kmsg.TxnOffsetCommitResponse](a.cl, req)
			if err != nil {
				return err
			}
			return code(resp.Topics[0].Partitions[0].ErrorCode)
		})
		b.lead(groups, 1)
		b.offsetIs(id, kerr.UnstableOffsetCommit, -1)
		a.end(commit)
		if commit {
			b.offsetIs(id, kerr.None, 42)
		} else {
			b.offsetIs(id, kerr.None, -1)
		}
	}
}

// offsetIs waits until the offset of a group is told so.
func (b *book) offsetIs(id string, want kerr.Code, at int64) {
	b.p.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: id, MemberEpoch: -1, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: txnTopic, TopicID: b.topicID(), Partitions: []int32{0}}}}}
	itest.Eventually(b.p, func() error {
		resp, err := ask[*kmsg.OffsetFetchResponse](b.plain, req)
		if err != nil {
			return err
		}
		if err := code(resp.Groups[0].ErrorCode); err != nil {
			return err
		}
		got := resp.Groups[0].Topics[0].Partitions[0]
		if kerr.Code(got.ErrorCode) != want || got.Offset != at {
			return fmt.Errorf("the offset of group %s is %d, %v; it is to be %d, %v", id, got.Offset, kerr.Code(got.ErrorCode), at, want)
		}
		return nil
	})
}
