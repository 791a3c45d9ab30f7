package api

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// createTopics answers CreateTopics (KIP-4, 525).
type createTopics struct {
	controller *ctrlnode.Node
	layers     func() config.Layers
}

func (h createTopics) route() Route { return later(2, 7, h.serve).on(OnController).forwarded() }

func (h createTopics) serve(c Context, req *kmsg.CreateTopicsRequest, reply func(kmsg.Response)) {
	if err := tooMany(len(req.Topics)); err != nil {
		reply(h.response(req, nil, err))
		return
	}
	want := topicsToCreate(req)
	ctrlnode.Submit(h.controller, within(req.TimeoutMillis), func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]controller.CreatedTopic] {
		want.Budget = controller.BudgetOf(img, soft, now, mutator(c, 6))
		return controller.CreateTopics(img, soft, want)
	}, func(created []controller.CreatedTopic, err error) {
		resp := h.response(req, created, err)
		if err == nil { // else the decision may still be under way
			resp.ThrottleMillis = int32(want.Budget.Throttle().Milliseconds())
		}
		reply(resp)
	})
}

func topicsToCreate(req *kmsg.CreateTopicsRequest) controller.TopicsToCreate {
	want := controller.TopicsToCreate{ValidateOnly: req.ValidateOnly}
	for _, t := range req.Topics {
		topic := controller.NewTopic{Name: t.Topic, Partitions: t.NumPartitions, Replication: t.ReplicationFactor}
		for _, a := range t.ReplicaAssignment {
			topic.Assignments = append(topic.Assignments, controller.Assignment{
				Partition: kafka.PartitionID(a.Partition), Replicas: nodesOf(a.Replicas),
			})
		}
		for _, c := range t.Configs {
			topic.Configs = append(topic.Configs, controller.ConfigValue{Key: c.Name, Value: c.Value})
		}
		want.Topics = append(want.Topics, topic)
	}
	return want
}

func (h createTopics) response(req *kmsg.CreateTopicsRequest, created []controller.CreatedTopic, err error) *kmsg.CreateTopicsResponse {
	resp := kmsg.NewPtrCreateTopicsResponse()
	if err != nil {
		// There is no room for an error of the whole request.
		names, same := namesOnce(req.Topics), sameErrorOf(err)
		resp.Topics = make([]kmsg.CreateTopicsResponseTopic, len(names))
		for i, name := range names {
			resp.Topics[i] = refusedTopic(name, same.at(i))
		}
		return resp
	}
	layers := h.layers()
	// Most topics have nothing of their own, and the same settings then.
	plain := sync.OnceValue(func() []kmsg.CreateTopicsResponseTopicConfig {
		return createdConfigs(layers.DescribeTopic(nil, nil))
	})
	for _, t := range created {
		if t.Err != nil {
			resp.Topics = append(resp.Topics, refusedTopic(t.Name, t.Err))
			continue
		}
		topic := kmsg.NewCreateTopicsResponseTopic()
		topic.Topic, topic.TopicID = t.Name, t.ID
		topic.NumPartitions, topic.ReplicationFactor = t.Partitions, t.Replication
		if len(t.Configs) == 0 {
			topic.Configs = plain()
		} else {
			topic.Configs = createdConfigs(layers.DescribeTopic(t.Configs, nil))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

func namesOnce(topics []kmsg.CreateTopicsRequestTopic) []string {
	names := map[string]struct{}{}
	for _, t := range topics {
		names[t.Topic] = struct{}{}
	}
	return slices.SortedFunc(maps.Keys(names), cmp.Compare[string])
}

func refusedTopic(name string, err error) kmsg.CreateTopicsResponseTopic {
	topic := kmsg.NewCreateTopicsResponseTopic()
	topic.Topic, topic.ErrorCode, topic.ErrorMessage = name, code(err), kerr.Message(err)
	topic.NumPartitions, topic.ReplicationFactor = -1, -1
	topic.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	return topic
}

func createdConfigs(all []config.Described) []kmsg.CreateTopicsResponseTopicConfig {
	out := make([]kmsg.CreateTopicsResponseTopicConfig, 0, len(all))
	for _, d := range all {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.ReadOnly, c.Source, c.IsSensitive = d.Name, d.Value, d.ReadOnly, int8(d.Source), d.Sensitive
		out = append(out, c)
	}
	return out
}
