package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// alterPartitionReassignments answers AlterPartitionReassignments (KIP-455,
// 860).
type alterPartitionReassignments struct{ controller *ctrlnode.Node }

func (h alterPartitionReassignments) route() Route {
	return later(0, 1, h.serve).on(OnController).forwarded()
}

func (h alterPartitionReassignments) serve(_ Context, req *kmsg.AlterPartitionAssignmentsRequest, reply func(kmsg.Response)) {
	want := controller.ReassignmentsToAlter{KeepFactor: req.Version >= 1 && !req.AllowReplicationFactorChange}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			want.Partitions = append(want.Partitions, controller.Reassignment{
				Partition: kafka.TopicPartition{Topic: t.Topic, Partition: kafka.PartitionID(p.Partition)},
				Replicas:  nodesOf(p.Replicas),
			})
		}
	}
	ctrlnode.Submit(h.controller, within(req.TimeoutMillis), func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]controller.Reassigned] {
		return controller.AlterReassignments(img, soft, want)
	}, func(reassigned []controller.Reassigned, err error) {
		resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
		resp.AllowReplicationFactorChange = !want.KeepFactor
		resp.ErrorCode, resp.ErrorMessage = code(err), kerr.Message(err)
		if err == nil {
			resp.Topics = reassignedTopics(reassigned)
		}
		reply(resp)
	})
}

// reassignedTopics groups results by topic, in the order they first appear.
func reassignedTopics(all []controller.Reassigned) []kmsg.AlterPartitionAssignmentsResponseTopic {
	var topics []kmsg.AlterPartitionAssignmentsResponseTopic
	at := map[string]int{}
	for _, r := range all {
		n, ok := at[r.Partition.Topic]
		if !ok {
			n = len(topics)
			at[r.Partition.Topic] = n
			topic := kmsg.NewAlterPartitionAssignmentsResponseTopic()
			topic.Topic = r.Partition.Topic
			topics = append(topics, topic)
		}
		p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
		p.Partition, p.ErrorCode, p.ErrorMessage = int32(r.Partition.Partition), code(r.Err), kerr.Message(r.Err)
		topics[n].Partitions = append(topics[n].Partitions, p)
	}
	return topics
}
