package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsetDelete answers OffsetDelete (KIP-496). The coordinator is asked even when
// no partition exists: what is wrong with the group comes first.
type offsetDelete struct {
	view   View
	groups Coordinator
}

func (h offsetDelete) serve(_ Context, req *kmsg.OffsetDeleteRequest, reply func(kmsg.Response)) {
	img := h.view.Image()
	del := &group.DeleteOffsets{Call: group.Call{Group: req.Group}}
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	if n > maxNamed {
		del.Err = kerr.InvalidRequest
		reply(offsetDeleteResponse(req, del))
		return
	}
	del.Offsets = make([]group.DeleteOffset, 0, n)
	for i := range req.Topics {
		t := &req.Topics[i]
		topic := findTopic(img, false, t.Topic, kafka.TopicID{})
		for _, p := range t.Partitions {
			d := group.DeleteOffset{
				TopicPartition: kafka.TopicPartition{Topic: t.Topic, Partition: kafka.PartitionID(p.Partition)},
				Err:            topic.partition(p.Partition),
			}
			del.Offsets = append(del.Offsets, d)
		}
	}
	h.groups.Submit(del, func() { reply(offsetDeleteResponse(req, del)) })
}

func offsetDeleteResponse(req *kmsg.OffsetDeleteRequest, del *group.DeleteOffsets) kmsg.Response {
	resp := kmsg.NewPtrOffsetDeleteResponse()
	if resp.ErrorCode = int16(del.Err); del.Err != kerr.None {
		return resp
	}
	next := 0
	for i := range req.Topics {
		t := kmsg.NewOffsetDeleteResponseTopic()
		t.Topic = req.Topics[i].Topic
		for range req.Topics[i].Partitions {
			d := &del.Offsets[next]
			t.Partitions = append(t.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: int32(d.Partition), ErrorCode: int16(d.Err)})
			next++
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
