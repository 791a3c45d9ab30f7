package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// listReassignments answers ListPartitionReassignments (KIP-455): partitions
// that are gaining or losing replicas.
type listReassignments struct{ view View }

func (l listReassignments) serve(_ Context, req *kmsg.ListPartitionReassignmentsRequest) kmsg.Response {
	resp := kmsg.NewPtrListPartitionReassignmentsResponse()
	resp.Topics = []kmsg.ListPartitionReassignmentsResponseTopic{}
	img := l.view.Image()
	add := func(t *image.Topic, wanted func(int32) bool) {
		if r := movesOf(t, wanted); len(r.Partitions) > 0 {
			resp.Topics = append(resp.Topics, r)
		}
	}
	if req.Topics == nil {
		for _, id := range img.TopicNames().All() {
			if t, ok := img.TopicByID(id); ok {
				add(t, func(int32) bool { return true })
			}
		}
		return resp
	}
	asked := map[kafka.TopicPartition]bool{}
	for _, want := range req.Topics {
		for _, p := range want.Partitions {
			asked[kafka.TopicPartition{Topic: want.Topic, Partition: kafka.PartitionID(p)}] = true
		}
	}
	for _, want := range distinct(req.Topics, func(t *kmsg.ListPartitionReassignmentsRequestTopic) string { return t.Topic }) {
		if t, ok := img.TopicNamed(want.Topic); ok {
			add(t, func(p int32) bool {
				return asked[kafka.TopicPartition{Topic: t.Name, Partition: kafka.PartitionID(p)}]
			})
		}
	}
	return resp
}

// movesOf lists the partitions of a topic that are being reassigned.
func movesOf(t *image.Topic, wanted func(int32) bool) kmsg.ListPartitionReassignmentsResponseTopic {
	r := kmsg.NewListPartitionReassignmentsResponseTopic()
	r.Topic = t.Name
	for id, p := range t.Partitions.All() {
		if !wanted(int32(id)) || len(p.Adding)+len(p.Removing) == 0 {
			continue
		}
		part := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
		part.Partition, part.Replicas = int32(id), nodeIDs(p.Replicas)
		part.AddingReplicas, part.RemovingReplicas = nodeIDs(p.Adding), nodeIDs(p.Removing)
		r.Partitions = append(r.Partitions, part)
	}
	return r
}
