package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/toctrl"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// incrementalAlterConfigs answers IncrementalAlterConfigs (KIP-339).
type incrementalAlterConfigs struct {
	controller *ctrlnode.Node
	judge      ConfigJudge // of loggers
}

func (h incrementalAlterConfigs) route() Route {
	return later(0, 1, h.serve).on(OnController).forwarded()
}

func (h incrementalAlterConfigs) serve(c Context, req *kmsg.IncrementalAlterConfigsRequest, reply func(kmsg.Response)) {
	if err := tooMany(len(req.Resources)); err != nil {
		reply(refusal(req, err))
		return
	}
	var own []kmsg.IncrementalAlterConfigsResponseResource
	if !c.Forwarded { // else the broker has looked
		if req, own = h.judge.ofLoggers(req); len(req.Resources) == 0 {
			resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
			resp.Resources = own
			reply(resp)
			return
		}
	}
	want := controller.ConfigsToAlter{ValidateOnly: req.ValidateOnly, Direct: !c.Forwarded}
	for _, r := range req.Resources {
		change := controller.ResourceChange{Resource: resourceOf(r.ResourceType, r.ResourceName)}
		for _, c := range r.Configs {
			change.Changes = append(change.Changes, controller.ConfigChange{
				Op: controller.ConfigOp(c.Op), Key: c.Name, Value: c.Value,
			})
		}
		want.Resources = append(want.Resources, change)
	}
	submit := ctrlnode.Submit[[]controller.AlteredResource]
	if toctrl.Repeatable(req) {
		submit = ctrlnode.SubmitRepeatable
	}
	submit(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]controller.AlteredResource] {
		return controller.IncrementalAlterConfigs(img, soft, want)
	}, func(altered []controller.AlteredResource, err error) {
		resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
		resp.Resources = own
		for _, a := range orRefused(want, altered, err) {
			resp.Resources = append(resp.Resources, incrementalResult(a.Resource, a.Err))
		}
		reply(resp)
	})
}

func incrementalResult(resource image.Resource, err error) kmsg.IncrementalAlterConfigsResponseResource {
	r := kmsg.NewIncrementalAlterConfigsResponseResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceType(resource.Type), resource.Name
	r.ErrorCode, r.ErrorMessage = code(err), kerr.Message(err)
	return r
}
