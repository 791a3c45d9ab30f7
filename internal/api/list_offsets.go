package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
)

// listOffsets answers ListOffsets: which offset belongs to a time.
type listOffsets struct{ parts *partitions.Manager }

// offsetsSince is the version that first knew a special timestamp; index is
// minus the timestamp.
var offsetsSince = [...]int16{0: 0, 1: 1, 2: 1, 3: 7, 4: 8, 5: 9, 6: 11}

func (h listOffsets) serve(c Context, req *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := kmsg.NewPtrListOffsetsResponse()
	twice := repeated(req)
	for i := range req.Topics {
		in := &req.Topics[i]
		out := kmsg.NewListOffsetsResponseTopic()
		out.Topic = in.Topic
		for j := range in.Partitions {
			out.Partitions = append(out.Partitions, h.partition(req, in.Topic, &in.Partitions[j], twice))
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// repeated are the partitions that a request names more than once.
func repeated(req *kmsg.ListOffsetsRequest) map[kafka.TopicPartition]bool {
	seen := map[kafka.TopicPartition]bool{}
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			tp := kafka.TopicPartition{Topic: req.Topics[i].Topic, Partition: kafka.PartitionID(req.Topics[i].Partitions[j].Partition)}
			_, again := seen[tp]
			seen[tp] = again
		}
	}
	return seen
}

func (h listOffsets) partition(req *kmsg.ListOffsetsRequest, topic string, in *kmsg.ListOffsetsRequestTopicPartition, twice map[kafka.TopicPartition]bool) kmsg.ListOffsetsResponseTopicPartition {
	out := kmsg.NewListOffsetsResponseTopicPartition()
	out.Partition, out.Timestamp, out.Offset, out.LeaderEpoch = in.Partition, -1, -1, -1
	tp := kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(in.Partition)}
	if twice[tp] {
		out.ErrorCode = int16(kerr.InvalidRequest)
		return out
	}
	found, err := h.find(req, tp, in)
	if err != nil {
		out.ErrorCode = int16(codeOf(err, req.Version))
		return out
	}
	out.Timestamp, out.Offset = found.Timestamp, int64(found.Offset)
	if found.Offset != kafka.NoOffset {
		out.LeaderEpoch = int32(found.Epoch)
	}
	return out
}

// codeOf maps what older clients do not know.
func codeOf(err error, version int16) kerr.Code {
	code := kerr.Of(err)
	if code == kerr.OffsetNotAvailable && version < 5 {
		return kerr.LeaderNotAvailable
	}
	return code
}

func (h listOffsets) find(req *kmsg.ListOffsetsRequest, tp kafka.TopicPartition, in *kmsg.ListOffsetsRequestTopicPartition) (partitions.Position, error) {
	if t := -in.Timestamp; t > 0 && (t >= int64(len(offsetsSince)) || req.Version < offsetsSince[t]) {
		return partitions.Position{}, kerr.UnsupportedVersion
	}
	part, err := h.parts.Named(tp)
	if err != nil {
		return partitions.Position{}, err
	}
	reader := partitions.Consumer
	reader.Committed = req.IsolationLevel == readCommitted
	if req.ReplicaID >= 0 {
		reader.Follower = kafka.NodeID(req.ReplicaID)
	}
	epoch := kafka.NoEpoch
	if req.Version >= 4 {
		epoch = kafka.Epoch(in.CurrentLeaderEpoch)
	}
	return part.Find(reader, epoch, in.Timestamp)
}
