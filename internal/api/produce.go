package api

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/transport"
)

// adminClient is the one client id that may write to internal topics.
const adminClient = "__admin_client"

// acksAll has a produce wait for all in-sync replicas.
const acksAll = -1

// produce answers Produce. Versions 0 to 2 are listed, because librdkafka reads
// compression off the minimum (KAFKA-18659), and refused by the table.
type produce struct {
	parts    *partitions.Manager
	timers   *await.Timers
	verifier TxnVerifier
	metrics  *Metrics
}

func (h produce) route() Route { return raw(0, 3, 13, h.serve).listedFrom(0).recycle() }

// serve appends each partition's batch in the order of the request, and then
// waits for what acks and flush.messages ask for, if anything. Where a transaction
// begins in a partition its coordinator is asked before.
func (h produce) serve(r *transport.Request, reply func(transport.Reply)) {
	req := r.Body.(*kmsg.ProduceRequest)
	w := &produceWait{handler: h, request: r, acks: req.Acks, reply: reply}
	w.seek(req)
	w.appendAll(req)
	if w.try() {
		w.finish(await.Satisfied)
		return
	}
	w.park(time.Duration(req.TimeoutMillis) * time.Millisecond)
	r.Abandoned(w.Cancel)
}

// produceWait is one produce from its first append to its answer.
type produceWait struct {
	await.Parked
	handler  produce
	request  *transport.Request
	acks     int16
	warrants *warrants // nil: nothing is transactional
	resp     kmsg.ProduceResponse
	hints    []produceHint
	pending  []produced // what was appended and is not confirmed
	failed   bool
	parked   bool
	reply    func(transport.Reply)
}

// produced is one appended batch. slot is its place in the response, which does
// not move any more.
type produced struct {
	watch    await.Watch
	part     *partitions.Partition
	appended partitions.Appended
	slot     *kmsg.ProduceResponseTopicPartition
	done     bool
}

// produceHint is a refused partition for which another broker may be known.
type produceHint struct {
	id   kafka.TopicIDPartition
	slot *kmsg.ProduceResponseTopicPartition
	err  error
}

func (w *produceWait) appendAll(req *kmsg.ProduceRequest) {
	nowMs := time.Now().UnixMilli()
	n := 0
	w.resp.Topics = make([]kmsg.ProduceResponseTopic, len(req.Topics))
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	w.pending = make([]produced, 0, n)
	for i := range req.Topics {
		w.appendTopic(req, &req.Topics[i], &w.resp.Topics[i], nowMs)
	}
}

func (w *produceWait) appendTopic(req *kmsg.ProduceRequest, in *kmsg.ProduceRequestTopic, out *kmsg.ProduceResponseTopic, nowMs int64) {
	out.Topic, out.TopicID = in.Topic, in.TopicID
	out.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(in.Partitions))
	for i := range in.Partitions {
		slot := &out.Partitions[i]
		*slot = kmsg.NewProduceResponseTopicPartition()
		slot.Partition, slot.BaseOffset, slot.LogStartOffset = in.Partitions[i].Partition, -1, -1
		part, err := w.find(req, in, in.Partitions[i].Partition)
		if err == nil {
			err = w.appendOne(part, &in.Partitions[i], slot, nowMs)
			part.Traffic().Produced(len(in.Partitions[i].Records), err)
		}
		if err != nil {
			w.refuse(kafka.TopicIDPartition{Topic: topicIDOf(w.handler.parts.Image(), in.Topic, in.TopicID), Partition: kafka.PartitionID(slot.Partition)}, slot, err)
		}
	}
}

// find finds the partition to append to, or why the request may not.
func (w *produceWait) find(req *kmsg.ProduceRequest, in *kmsg.ProduceRequestTopic, n int32) (*partitions.Partition, error) {
	if err := w.warrants.refused(); err != nil {
		return nil, err
	}
	if req.Acks < acksAll || req.Acks > 1 {
		return nil, kerr.Errorf(kerr.InvalidRequiredAcks, "acks is %d, not -1, 0 or 1", req.Acks)
	}
	part, err := findPartition(w.handler.parts, req.Version >= 13, in.Topic, in.TopicID, n)
	if err == nil && kafka.IsInternal(part.Name.Topic) && w.request.ClientID != adminClient {
		err = kerr.Errorf(kerr.InvalidTopicException, "%s belongs to Kafka itself", part.Name.Topic)
	}
	return part, err
}

func (w *produceWait) appendOne(part *partitions.Partition, in *kmsg.ProduceRequestTopicPartition, slot *kmsg.ProduceResponseTopicPartition, nowMs int64) error {
	may := w.warrants.of(in)
	if may.err != nil {
		return may.err
	}
	policy := part.BatchPolicy(nowMs)
	policy.NoZstd = w.request.Version < 7
	checked, err := batch.ValidateProduce(in.Records, policy)
	if err != nil {
		return err
	}
	appended, err := part.AppendGuarded(checked.Batch, w.acks == acksAll, may.guard)
	if err != nil {
		return err
	}
	slot.BaseOffset, slot.LogAppendTime, slot.LogStartOffset = int64(appended.Base), appended.AppendTime, int64(appended.LogStart)
	if w.acks == acksAll || appended.Sync {
		w.pending = append(w.pending, produced{part: part, appended: appended, slot: slot})
	}
	return nil
}

// refuse writes an error into a slot. Nothing of the partition was appended, or
// it is not known whether it will stay.
func (w *produceWait) refuse(id kafka.TopicIDPartition, slot *kmsg.ProduceResponseTopicPartition, err error) {
	w.failed = true
	slot.ErrorCode, slot.ErrorMessage = int16(kerr.Of(err)), kerr.Message(err)
	slot.BaseOffset, slot.LogAppendTime, slot.LogStartOffset = -1, -1, -1
	var records *batch.RecordsError
	if errors.As(err, &records) {
		for _, p := range records.Problems {
			slot.ErrorRecords = append(slot.ErrorRecords, kmsg.ProduceResponseTopicPartitionErrorRecord{RelativeOffset: p.Index, ErrorMessage: &p.Message})
		}
	}
	if hint := hintFor(w.handler.parts.Image(), id, err); hint != noHint && w.request.Version >= 10 {
		slot.CurrentLeader.LeaderID, slot.CurrentLeader.LeaderEpoch = int32(hint.node), int32(hint.epoch)
		w.hints = append(w.hints, produceHint{id, slot, err})
	}
}

// park waits on all partitions that are not confirmed yet.
func (w *produceWait) park(limit time.Duration) {
	w.Init(w.handler.timers, w.try, w.finish)
	w.parked = true
	w.handler.metrics.produces.began()
	for i := range w.pending {
		p := &w.pending[i]
		p.watch.Parked = &w.Parked
		p.part.AwaitCommit(&p.watch)
	}
	w.Start(limit)
}

// try notes who is confirmed by now and tells whether all are.
func (w *produceWait) try() bool {
	all := true
	for i := range w.pending {
		p := &w.pending[i]
		if p.done {
			continue
		}
		done, err := p.part.Acked(p.appended, w.acks == acksAll)
		p.done = done
		all = all && done
		if err != nil {
			w.refuse(p.part.ID, p.slot, err)
		}
	}
	return all
}

func (w *produceWait) finish(how await.Outcome) {
	if w.parked {
		w.handler.metrics.produces.ended(how)
	}
	for i := range w.pending {
		p := &w.pending[i]
		if !p.done {
			w.refuse(p.part.ID, p.slot, kerr.Errorf(kerr.RequestTimedOut, "not all in-sync replicas had the batch in time"))
		}
		p.part.ForgetCommit(&p.watch)
	}
	switch {
	case w.acks != 0:
		w.nameLeaders()
		w.resp.Version = w.request.Version
		w.reply(transport.FromMessage(&w.resp))
	case w.failed:
		w.reply(transport.CloseConn) // so that the client, which reads no answer, looks for the leader again
	default:
		w.reply(transport.None)
	}
}

// nameLeaders tells where the leaders are that the slots name (KIP-951).
func (w *produceWait) nameLeaders() {
	if len(w.hints) == 0 {
		return
	}
	nodes := hintNodes{img: w.handler.parts.Image(), listener: w.request.Conn.Listener}
	for _, h := range w.hints {
		b, e, ok := nodes.endpoint(leaderHint{kafka.NodeID(h.slot.CurrentLeader.LeaderID), kafka.Epoch(h.slot.CurrentLeader.LeaderEpoch)})
		if ok {
			w.resp.Brokers = append(w.resp.Brokers, kmsg.ProduceResponseBroker{NodeID: int32(b.ID), Host: e.Host, Port: int32(e.Port), Rack: b.Rack})
		}
	}
}
