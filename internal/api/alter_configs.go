package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// alterConfigs answers AlterConfigs, which replaces whole configurations
// (KIP-133).
type alterConfigs struct{ controller *ctrlnode.Node }

func (h alterConfigs) route() Route { return later(0, 2, h.serve).on(OnController).forwarded() }

func (h alterConfigs) serve(c Context, req *kmsg.AlterConfigsRequest, reply func(kmsg.Response)) {
	if err := tooMany(len(req.Resources)); err != nil {
		reply(refusal(req, err))
		return
	}
	want := controller.ConfigsToAlter{ValidateOnly: req.ValidateOnly, Direct: !c.Forwarded}
	for _, r := range req.Resources {
		change := controller.ResourceChange{Resource: resourceOf(r.ResourceType, r.ResourceName)}
		for _, c := range r.Configs {
			change.Changes = append(change.Changes, controller.ConfigChange{Key: c.Name, Value: c.Value})
		}
		want.Resources = append(want.Resources, change)
	}
	ctrlnode.Submit(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[[]controller.AlteredResource] {
		return controller.AlterConfigs(img, soft, want)
	}, func(altered []controller.AlteredResource, err error) {
		resp := kmsg.NewPtrAlterConfigsResponse()
		for _, a := range orRefused(want, altered, err) {
			r := kmsg.NewAlterConfigsResponseResource()
			r.ResourceType, r.ResourceName = kmsg.ConfigResourceType(a.Resource.Type), a.Resource.Name
			r.ErrorCode, r.ErrorMessage = code(a.Err), kerr.Message(a.Err)
			resp.Resources = append(resp.Resources, r)
		}
		reply(resp)
	})
}

func resourceOf(t kmsg.ConfigResourceType, name string) image.Resource {
	return image.Resource{Type: image.ResourceType(t), Name: name}
}

// orRefused gives every resource the error of the whole request, if there is
// one.
func orRefused(want controller.ConfigsToAlter, altered []controller.AlteredResource, err error) []controller.AlteredResource {
	if err == nil {
		return altered
	}
	refused, same := make([]controller.AlteredResource, len(want.Resources)), sameErrorOf(err)
	for i, r := range want.Resources {
		refused[i] = controller.AlteredResource{Resource: r.Resource, Err: same.at(i)}
	}
	return refused
}
