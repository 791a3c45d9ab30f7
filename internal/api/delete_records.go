package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/edge/await"
)

// deleteRecords answers DeleteRecords: it raises the start of logs, and waits
// until every live replica has done so too (KIP-107).
type deleteRecords struct {
	parts  *partitions.Manager
	timers *await.Timers
}

func (h deleteRecords) serve(c Context, req *kmsg.DeleteRecordsRequest, reply func(kmsg.Response)) {
	w := &deleteWait{reply: reply}
	w.start(h, req)
	if w.try() {
		w.finish(await.Satisfied)
		return
	}
	w.Init(h.timers, w.try, w.finish)
	for i := range w.pending {
		p := &w.pending[i]
		p.watch.Parked = &w.Parked
		p.part.AwaitCommit(&p.watch)
	}
	w.Start(time.Duration(req.TimeoutMillis) * time.Millisecond)
	c.Abandoned(w.Cancel)
}

// deleteWait is one DeleteRecords until its answer.
type deleteWait struct {
	await.Parked
	resp    kmsg.DeleteRecordsResponse
	pending []deleting
	reply   func(kmsg.Response)
}

// deleting is a partition whose replicas have not all deleted yet.
type deleting struct {
	watch await.Watch
	part  *partitions.Partition
	until kafka.Offset
	slot  *kmsg.DeleteRecordsResponseTopicPartition
	done  bool
}

func (w *deleteWait) start(h deleteRecords, req *kmsg.DeleteRecordsRequest) {
	w.resp.Topics = make([]kmsg.DeleteRecordsResponseTopic, len(req.Topics))
	for i := range req.Topics {
		in, out := &req.Topics[i], &w.resp.Topics[i]
		out.Topic = in.Topic
		out.Partitions = make([]kmsg.DeleteRecordsResponseTopicPartition, len(in.Partitions))
		for j := range in.Partitions {
			slot := &out.Partitions[j]
			slot.Partition, slot.LowWatermark = in.Partitions[j].Partition, -1
			part, until, err := h.begin(in.Topic, &in.Partitions[j])
			if err != nil {
				slot.ErrorCode = int16(kerr.Of(err))
				continue
			}
			w.pending = append(w.pending, deleting{part: part, until: until, slot: slot})
		}
	}
}

func (h deleteRecords) begin(topic string, in *kmsg.DeleteRecordsRequestTopicPartition) (*partitions.Partition, kafka.Offset, error) {
	part, err := h.parts.Named(kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(in.Partition)})
	if err != nil {
		return nil, 0, err
	}
	if kafka.IsInternal(topic) {
		return nil, 0, kerr.InvalidTopicException
	}
	until, err := part.DeleteBefore(kafka.Offset(in.Offset))
	return part, until, err
}

func (w *deleteWait) try() bool {
	all := true
	for i := range w.pending {
		p := &w.pending[i]
		if p.done {
			continue
		}
		low, err := p.part.LowWatermark()
		p.slot.ErrorCode, p.slot.LowWatermark = int16(kerr.Of(err)), int64(low)
		p.done = err != nil || low >= p.until
		all = all && p.done
	}
	return all
}

func (w *deleteWait) finish(await.Outcome) {
	for i := range w.pending {
		p := &w.pending[i]
		if !p.done {
			p.slot.ErrorCode = int16(kerr.RequestTimedOut)
		}
		p.part.ForgetCommit(&p.watch)
	}
	w.reply(&w.resp)
}
