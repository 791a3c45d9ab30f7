package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// alterPartition answers AlterPartition (KIP-497, 841, 903).
type alterPartition struct{ controller *ctrlnode.Node }

func (h alterPartition) route() Route { return later(2, 3, h.serve).on(OnController) }

func (h alterPartition) serve(_ Context, req *kmsg.AlterPartitionRequest, reply func(kmsg.Response)) {
	want := controller.ISRsToAlter{Broker: kafka.NodeID(req.BrokerID), Epoch: kafka.BrokerEpoch(req.BrokerEpoch)}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			want.Partitions = append(want.Partitions, controller.NewISR{
				Partition:      kafka.TopicIDPartition{Topic: t.TopicID, Partition: kafka.PartitionID(p.Partition)},
				LeaderEpoch:    kafka.Epoch(p.LeaderEpoch),
				PartitionEpoch: p.PartitionEpoch,
				ISR:            members(p),
				Recovery:       image.Recovery(p.LeaderRecoveryState),
			})
		}
	}
	ctrlnode.SubmitRepeatable(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]controller.AlteredISR] {
		return controller.AlterPartition(img, soft, want)
	}, func(altered []controller.AlteredISR, err error) {
		resp := kmsg.NewPtrAlterPartitionResponse()
		if resp.ErrorCode = code(err); err == nil {
			resp.Topics = alteredTopics(req, altered)
		}
		reply(resp)
	})
}

// members reads the wished ISR, whose form v3 changed.
func members(p kmsg.AlterPartitionRequestTopicPartition) []controller.Member {
	var all []controller.Member
	for _, id := range p.NewISR {
		all = append(all, controller.Member{Broker: kafka.NodeID(id), Epoch: kafka.NoBrokerEpoch})
	}
	for _, m := range p.NewEpochISR {
		all = append(all, controller.Member{Broker: kafka.NodeID(m.BrokerID), Epoch: kafka.BrokerEpoch(m.BrokerEpoch)})
	}
	return all
}

// alteredTopics echoes the request with the results, which are in its order.
func alteredTopics(req *kmsg.AlterPartitionRequest, altered []controller.AlteredISR) []kmsg.AlterPartitionResponseTopic {
	var topics []kmsg.AlterPartitionResponseTopic
	for _, t := range req.Topics {
		topic := kmsg.NewAlterPartitionResponseTopic()
		topic.TopidID = t.TopicID
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, alteredPartition(p.Partition, altered[0]))
			altered = altered[1:]
		}
		topics = append(topics, topic)
	}
	return topics
}

func alteredPartition(id int32, a controller.AlteredISR) kmsg.AlterPartitionResponseTopicPartition {
	p := kmsg.NewAlterPartitionResponseTopicPartition()
	p.Partition, p.ErrorCode = id, code(a.Err)
	if a.Err == nil {
		p.LeaderID, p.LeaderEpoch, p.ISR = int32(a.State.Leader), int32(a.State.LeaderEpoch), image.Int32s(a.State.ISR)
		p.LeaderRecoveryState, p.PartitionEpoch = int8(a.State.Recovery), a.State.Epoch
	}
	return p
}
