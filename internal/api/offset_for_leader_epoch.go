package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// offsetForLeaderEpoch answers OffsetForLeaderEpoch: where an epoch ends in the
// leader's log (KIP-101, KIP-320).
type offsetForLeaderEpoch struct{ parts *partitions.Manager }

func (h offsetForLeaderEpoch) serve(c Context, req *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for i := range req.Topics {
		in := &req.Topics[i]
		out := kmsg.NewOffsetForLeaderEpochResponseTopic()
		out.Topic = in.Topic
		for j := range in.Partitions {
			out.Partitions = append(out.Partitions, h.partition(in.Topic, &in.Partitions[j]))
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func (h offsetForLeaderEpoch) partition(topic string, in *kmsg.OffsetForLeaderEpochRequestTopicPartition) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	out := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	out.Partition, out.LeaderEpoch, out.EndOffset = in.Partition, -1, -1
	part, err := h.parts.Named(kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(in.Partition)})
	if err != nil {
		out.ErrorCode = int16(kerr.Of(err))
		return out
	}
	epoch, end, err := part.EpochEnd(kafka.Epoch(in.CurrentLeaderEpoch), kafka.Epoch(in.LeaderEpoch))
	out.ErrorCode, out.LeaderEpoch, out.EndOffset = int16(kerr.Of(err)), int32(epoch), int64(end)
	return out
}
