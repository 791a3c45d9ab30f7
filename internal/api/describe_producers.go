package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// describeProducers answers DescribeProducers: what a leader remembers of
// producers (KIP-664).
type describeProducers struct{ parts *partitions.Manager }

func (h describeProducers) serve(c Context, req *kmsg.DescribeProducersRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeProducersResponse()
	seen := map[kafka.TopicPartition]struct{}{}
	for i := range req.Topics {
		in := &req.Topics[i]
		out := kmsg.NewDescribeProducersResponseTopic()
		out.Topic = in.Topic
		for _, n := range partitionsOnce(seen, in.Topic, in.Partitions) {
			out.Partitions = append(out.Partitions, h.partition(in.Topic, n))
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func (h describeProducers) partition(topic string, n int32) kmsg.DescribeProducersResponseTopicPartition {
	out := kmsg.NewDescribeProducersResponseTopicPartition()
	out.Partition = n
	part, err := h.parts.Named(kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(n)})
	if err == nil {
		err = describeInto(&out, part)
	}
	if err != nil {
		out.ErrorCode, out.ErrorMessage = int16(kerr.Of(err)), kerr.Message(err)
	}
	return out
}

func describeInto(out *kmsg.DescribeProducersResponseTopicPartition, part *partitions.Partition) error {
	list, err := part.Producers()
	for _, p := range list {
		out.ActiveProducers = append(out.ActiveProducers, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
			ProducerID: int64(p.ID), ProducerEpoch: int32(p.Epoch), LastSequence: p.LastSequence, LastTimestamp: p.LastTimestamp,
			CoordinatorEpoch: p.CoordinatorEpoch, CurrentTxnStartOffset: int64(p.TxnStart),
		})
	}
	return err
}
