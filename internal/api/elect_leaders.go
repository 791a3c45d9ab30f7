package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// electLeaders answers ElectLeaders (KIP-460).
type electLeaders struct{ controller *ctrlnode.Node }

func (h electLeaders) route() Route { return later(0, 2, h.serve).on(OnController).forwarded() }

func (h electLeaders) serve(_ Context, req *kmsg.ElectLeadersRequest, reply func(kmsg.Response)) {
	kind := req.ElectionType
	if req.Version == 0 {
		kind = 0
	}
	if kind != 0 && kind != 1 {
		reply(electionResponse(req, nil, kerr.Errorf(kerr.InvalidRequest, "election type %d does not exist", kind)))
		return
	}
	want := controller.LeadersToElect{Unclean: kind == 1}
	if req.Topics != nil {
		want.Partitions = []kafka.TopicPartition{}
	}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			want.Partitions = append(want.Partitions, kafka.TopicPartition{Topic: t.Topic, Partition: kafka.PartitionID(p)})
		}
	}
	ctrlnode.Submit(h.controller, within(req.TimeoutMillis), func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]controller.Elected] {
		return controller.ElectLeaders(img, soft, want)
	}, func(elected []controller.Elected, err error) { reply(electionResponse(req, elected, err)) })
}

// electionResponse groups the results by topic. The error of a whole request
// stands on top and, for v0 which has no such place, on each partition.
func electionResponse(req *kmsg.ElectLeadersRequest, elected []controller.Elected, err error) kmsg.Response {
	resp := kmsg.NewPtrElectLeadersResponse()
	if resp.ErrorCode = code(err); err != nil {
		elected = nil
		same := sameErrorOf(err)
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				tp := kafka.TopicPartition{Topic: t.Topic, Partition: kafka.PartitionID(p)}
				elected = append(elected, controller.Elected{Partition: tp, Err: same.at(len(elected))})
			}
		}
	}
	at := map[string]int{}
	for _, e := range elected {
		n, ok := at[e.Partition.Topic]
		if !ok {
			n = len(resp.Topics)
			at[e.Partition.Topic] = n
			topic := kmsg.NewElectLeadersResponseTopic()
			topic.Topic = e.Partition.Topic
			resp.Topics = append(resp.Topics, topic)
		}
		p := kmsg.NewElectLeadersResponseTopicPartition()
		p.Partition, p.ErrorCode, p.ErrorMessage = int32(e.Partition.Partition), code(e.Err), kerr.Message(e.Err)
		resp.Topics[n].Partitions = append(resp.Topics[n].Partitions, p)
	}
	return resp
}
