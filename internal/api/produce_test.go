package api

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions/testbed"
	"github.com/ottla/ottla/internal/edge/transport"
)

func (r *dataRig) produce() Route { return r.produceAsking(nil) }

// produceAsking has the first batches of transactions verified.
func (r *dataRig) produceAsking(v TxnVerifier) Route {
	return produce{r.Manager, r.Timers, v, &Metrics{}}.route()
}

func (r *dataRig) produced(req *kmsg.ProduceRequest, version int16) kmsg.ProduceResponseTopicPartition {
	r.t.Helper()
	resp := do[*kmsg.ProduceResponse](r, r.produce(), req, version)
	return readBack(r.t, resp).Topics[0].Partitions[0]
}

func TestProduceEveryVersion(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 1)
	for v := int16(3); v <= 13; v++ {
		got := r.produced(produceRequest(-1, "t", id, 0, lines(batch.Options{}, "a", "b")), v)
		codeIs(t, fmt.Sprintf("version %d", v), got.ErrorCode, kerr.None)
		if want := 2 * int64(v-3); got.BaseOffset != want || got.LogAppendTime != -1 {
			t.Errorf("version %d: %+v", v, got)
		}
		if v >= 5 && got.LogStartOffset != 0 || got.CurrentLeader.LeaderID != -1 {
			t.Errorf("version %d: %+v", v, got)
		}
	}
}

func TestProduceRefusals(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 1, "max.message.bytes", "200")
	r.Topic("compacted", 1, "cleanup.policy", "compact")
	r.Topic(kafka.ConsumerOffsetsTopic, 1)
	good := func() []byte { return lines(batch.Options{}, "v") }
	f := func(rule string, req *kmsg.ProduceRequest, version int16, want kerr.Code) {
		t.Helper()
		got := r.produced(req, version)
		codeIs(t, rule, got.ErrorCode, want)
		if want != kerr.None && (got.BaseOffset != -1 || version >= 8 && (got.ErrorMessage == nil || *got.ErrorMessage == "")) {
			t.Errorf("%s: %+v", rule, got)
		}
	}
	f("acks 2", produceRequest(2, "t", id, 0, good()), 9, kerr.InvalidRequiredAcks)
	f("unknown topic", produceRequest(1, "u", id, 0, good()), 9, kerr.UnknownTopicOrPartition)
	f("unknown partition", produceRequest(1, "t", id, 1, good()), 9, kerr.UnknownTopicOrPartition)
	f("unknown id", produceRequest(1, "t", kafka.TopicID{1}, 0, good()), 13, kerr.UnknownTopicId)
	f("internal topic", produceRequest(1, kafka.ConsumerOffsetsTopic, id, 0, good()), 9, kerr.InvalidTopicException)
	f("no records", produceRequest(1, "t", id, 0, nil), 9, kerr.InvalidRecord)
	f("too large", produceRequest(1, "t", id, 0, lines(batch.Options{}, string(make([]byte, 300)))), 9, kerr.MessageTooLarge)
	f("zstd of an old client", produceRequest(1, "t", id, 0, lines(batch.Options{Codec: batch.Zstd}, "v")), 6, kerr.UnsupportedCompressionType)
	f("zstd", produceRequest(1, "t", id, 0, lines(batch.Options{Codec: batch.Zstd}, "v")), 7, kerr.None)
}

func TestProduceNamesTheRecordsThatAreWrong(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("compacted", 1, "cleanup.policy", "compact")
	w := batch.NewBuilder(batch.Options{})
	w.Add(1, []byte("key"), nil)
	w.Add(1, nil, nil)
	got := r.produced(produceRequest(1, "compacted", id, 0, w.Build(nil)), 8)
	codeIs(t, "null key", got.ErrorCode, kerr.InvalidRecord)
	if len(got.ErrorRecords) != 1 || got.ErrorRecords[0].RelativeOffset != 1 || *got.ErrorRecords[0].ErrorMessage == "" {
		t.Errorf("%+v", got.ErrorRecords)
	}
}

// acks=0 is never answered; a failure closes the connection.
func TestProduceWithoutAcks(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 1)
	f := func(topic string, closes bool) {
		t.Helper()
		reply := <-r.begin(r.produce(), produceRequest(0, topic, id, 0, lines(batch.Options{}, "v")), 9)
		if _, answered := reply.Message(); answered {
			t.Error("an answer was sent")
		}
		if got := fmt.Sprintf("%+v", reply) == fmt.Sprintf("%+v", transport.CloseConn); got != closes {
			t.Errorf("topic %s: closes %v", topic, got)
		}
	}
	f("t", false)
	f("unknown", true)
}

func TestProduceDuplicateHasItsOffset(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 1)
	b := func(sequence int32) []byte {
		return lines(batch.Options{Producer: &batch.Producer{ID: 9, Epoch: 0, Sequence: sequence}}, "v")
	}
	for s := range int32(7) {
		r.produced(produceRequest(-1, "t", id, 0, b(s)), 9)
	}
	f := func(sequence int32, want kerr.Code, offset int64) {
		t.Helper()
		got := r.produced(produceRequest(-1, "t", id, 0, b(sequence)), 9)
		codeIs(t, fmt.Sprintf("sequence %d", sequence), got.ErrorCode, want)
		if got.BaseOffset != offset {
			t.Errorf("sequence %d: offset %d", sequence, got.BaseOffset)
		}
	}
	f(6, kerr.None, 6)
	f(3, kerr.None, 3)
	f(2, kerr.None, 2)
	f(1, kerr.OutOfOrderSequenceNumber, -1)
	f(9, kerr.OutOfOrderSequenceNumber, -1)
	if end := r.Find("t", 0).Status().LogEnd; end != 7 {
		t.Errorf("log end %d", end)
	}
}

// acks=-1 is answered when the followers have the batch, or when the time is up.
func TestProduceWaitsForFollowers(t *testing.T) {
	r := newDataRig(t)
	id := r.AddTopic("t")
	r.Apply(testbed.Partition(id, 0, testbed.Self, testbed.Other))
	r.Publish()
	replies := r.begin(r.produce(), produceRequest(-1, "t", id, 0, lines(batch.Options{}, "v")), 9)
	if len(replies) > 0 {
		t.Fatal("answered without the follower")
	}
	follower := partitions.Reader{Follower: testbed.Other, BrokerEpoch: -1}
	if _, err := r.Find("t", 0).Read(follower, partitions.Want{CurrentEpoch: -1, LastEpoch: -1, Offset: 1}); err != nil {
		t.Fatal(err)
	}
	m, _ := (<-replies).Message()
	codeIs(t, "the follower has it", m.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode, kerr.None)

	late := produceRequest(-1, "t", id, 0, lines(batch.Options{}, "v"))
	late.TimeoutMillis = 1
	codeIs(t, "nobody has it in time", r.produced(late, 9).ErrorCode, kerr.RequestTimedOut)
}

// A leader that has lost its office names the next one (KIP-951).
func TestProduceNamesTheLeader(t *testing.T) {
	r := newDataRig(t)
	id := r.AddTopic("t")
	r.Apply(testbed.Partition(id, 0, testbed.Self, testbed.Other), testbed.Elect(id, 0, testbed.Other))
	r.Publish()
	f := func(version int16, leader int32) {
		t.Helper()
		resp := readBack(t, do[*kmsg.ProduceResponse](r, r.produce(), produceRequest(1, "t", id, 0, lines(batch.Options{}, "v")), version))
		got := resp.Topics[0].Partitions[0]
		codeIs(t, "not the leader", got.ErrorCode, kerr.NotLeaderOrFollower)
		if got.CurrentLeader.LeaderID != leader || (len(resp.Brokers) == 1) != (leader == 2) {
			t.Errorf("version %d: %+v, %+v", version, got.CurrentLeader, resp.Brokers)
		}
	}
	f(9, -1)
	f(10, 2)
}

// Several partitions are answered apart from each other, in their order.
func TestProduceToManyPartitions(t *testing.T) {
	r := newDataRig(t)
	id := r.Topic("t", 3)
	req := produceRequest(-1, "t", id, 0, lines(batch.Options{}, "a"))
	for _, n := range []int32{7, 2, 1} {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = n, lines(batch.Options{}, "b", "c")
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
	}
	resp := do[*kmsg.ProduceResponse](r, r.produce(), req, 9)
	var got []string
	for _, p := range resp.Topics[0].Partitions {
		got = append(got, fmt.Sprint(p.Partition, p.ErrorCode, p.BaseOffset))
	}
	if want := "[0 0 0 7 3 -1 2 0 0 1 0 0]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestDeletedTopicAnswersWhoWaits(t *testing.T) {
	r := newDataRig(t)
	id := r.AddTopic("t")
	r.Apply(testbed.Partition(id, 0, testbed.Self, testbed.Other))
	r.Publish()
	replies := r.begin(r.produce(), produceRequest(-1, "t", id, 0, lines(batch.Options{}, "v")), 9)
	r.Apply(&metarec.RemoveTopicRecord{TopicId: id})
	r.Publish()
	m, _ := (<-replies).Message()
	codeIs(t, "deleted meanwhile", m.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode, kerr.NotLeaderOrFollower)
}
