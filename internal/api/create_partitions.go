package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// createPartitions answers CreatePartitions (KIP-195).
type createPartitions struct{ controller *ctrlnode.Node }

func (h createPartitions) route() Route { return later(0, 3, h.serve).on(OnController).forwarded() }

func (h createPartitions) serve(c Context, req *kmsg.CreatePartitionsRequest, reply func(kmsg.Response)) {
	if err := tooMany(len(req.Topics)); err != nil {
		reply(grownResponse(refusedGrowth(req, err)))
		return
	}
	want := controller.PartitionsToCreate{ValidateOnly: req.ValidateOnly}
	for _, t := range req.Topics {
		topic := controller.MorePartitions{Topic: t.Topic, Count: t.Count}
		if t.Assignment != nil {
			topic.Assignments = [][]kafka.NodeID{}
		}
		for _, a := range t.Assignment {
			topic.Assignments = append(topic.Assignments, nodesOf(a.Replicas))
		}
		want.Topics = append(want.Topics, topic)
	}
	ctrlnode.Submit(h.controller, within(req.TimeoutMillis), func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]controller.GrownTopic] {
		want.Budget = controller.BudgetOf(img, soft, now, mutator(c, 3))
		return controller.CreatePartitions(img, soft, want)
	}, func(grown []controller.GrownTopic, err error) {
		if err != nil {
			grown = refusedGrowth(req, err)
		}
		resp := grownResponse(grown)
		if err == nil { // else the decision may still be under way
			resp.ThrottleMillis = int32(want.Budget.Throttle().Milliseconds())
		}
		reply(resp)
	})
}

// refusedGrowth gives every topic the error of the whole request.
func refusedGrowth(req *kmsg.CreatePartitionsRequest, err error) []controller.GrownTopic {
	refused, same := make([]controller.GrownTopic, len(req.Topics)), sameErrorOf(err)
	for i, t := range req.Topics {
		refused[i] = controller.GrownTopic{Topic: t.Topic, Err: same.at(i)}
	}
	return refused
}

func grownResponse(grown []controller.GrownTopic) *kmsg.CreatePartitionsResponse {
	resp := kmsg.NewPtrCreatePartitionsResponse()
	resp.Topics = make([]kmsg.CreatePartitionsResponseTopic, len(grown))
	for i, t := range grown {
		topic := &resp.Topics[i]
		topic.Topic, topic.ErrorCode, topic.ErrorMessage = t.Topic, code(t.Err), kerr.Message(t.Err)
	}
	return resp
}
