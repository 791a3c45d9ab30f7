package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleteTopics answers DeleteTopics (KIP-4, 516).
type deleteTopics struct{ controller *ctrlnode.Node }

func (h deleteTopics) route() Route { return later(1, 6, h.serve).on(OnController).forwarded() }

func (h deleteTopics) serve(c Context, req *kmsg.DeleteTopicsRequest, reply func(kmsg.Response)) {
	var want []controller.TopicRef
	for _, name := range req.TopicNames {
		want = append(want, controller.TopicRef{Name: name})
	}
	for _, t := range req.Topics {
		ref := controller.TopicRef{ID: t.TopicID}
		if t.Topic != nil {
			ref.Name = *t.Topic
		}
		want = append(want, ref)
	}
	if err := tooMany(len(want)); err != nil {
		reply(deletedResponse(refusedDeletions(want, err, req.Version)))
		return
	}
	var budget *controller.Budget
	ctrlnode.Submit(h.controller, within(req.TimeoutMillis), func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]controller.DeletedTopic] {
		budget = controller.BudgetOf(img, soft, now, mutator(c, 5))
		return controller.DeleteTopics(img, soft, want, budget)
	}, func(deleted []controller.DeletedTopic, err error) {
		if err != nil {
			deleted = refusedDeletions(want, err, req.Version)
		}
		resp := deletedResponse(deleted)
		if err == nil { // else the decision may still be under way
			resp.ThrottleMillis = int32(budget.Throttle().Milliseconds())
		}
		reply(resp)
	})
}

func deletedResponse(deleted []controller.DeletedTopic) *kmsg.DeleteTopicsResponse {
	resp := kmsg.NewPtrDeleteTopicsResponse()
	resp.Topics = make([]kmsg.DeleteTopicsResponseTopic, len(deleted))
	for i := range deleted {
		t, topic := &deleted[i], &resp.Topics[i]
		if t.Name != "" || t.ID.IsZero() {
			topic.Topic = &t.Name
		}
		topic.TopicID, topic.ErrorCode, topic.ErrorMessage = t.ID, code(t.Err), kerr.Message(t.Err)
	}
	return resp
}

// refusedDeletions gives every topic the error of the whole request. Clients
// before v3 do not know the code for disabled deletion.
func refusedDeletions(want []controller.TopicRef, err error, version int16) []controller.DeletedTopic {
	if version < 3 && kerr.Of(err) == kerr.TopicDeletionDisabled {
		err = kerr.Errorf(kerr.InvalidRequest, "%s", *kerr.Message(err))
	}
	refused, same := make([]controller.DeletedTopic, len(want)), sameErrorOf(err)
	for i, ref := range want {
		refused[i] = controller.DeletedTopic{Name: ref.Name, ID: ref.ID, Err: same.at(i)}
	}
	return refused
}
