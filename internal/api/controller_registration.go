package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// controllerRegistration answers ControllerRegistration (KIP-919).
type controllerRegistration struct{ controller *ctrlnode.Node }

func (h controllerRegistration) route() Route { return later(0, 0, h.serve).on(OnController) }

func (h controllerRegistration) serve(_ Context, req *kmsg.ControllerRegistrationRequest, reply func(kmsg.Response)) {
	want := image.Controller{ID: kafka.NodeID(req.ControllerID), Incarnation: req.IncarnationID}
	for _, l := range req.Listeners {
		want.Endpoints = append(want.Endpoints, image.Endpoint{Name: l.Name, Host: l.Host, Port: l.Port, Protocol: l.SecurityProtocol})
	}
	for _, f := range req.Features {
		want.Features = append(want.Features, image.VersionRange{Name: f.Name, Min: f.MinSupportedVersion, Max: f.MaxSupportedVersion})
	}
	ctrlnode.Submit(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, _ *controller.Soft) controller.Decision[struct{}] {
		return controller.RegisterController(img, want)
	}, func(_ struct{}, err error) {
		resp := kmsg.NewPtrControllerRegistrationResponse()
		resp.ErrorCode, resp.ErrorMessage = code(err), kerr.Message(err)
		reply(resp)
	})
}

// unregisterController answers UnregisterController (KIP-1312).
type unregisterController struct{ controller *ctrlnode.Node }

func (h unregisterController) route() Route {
	return later(0, 0, h.serve).on(OnController).forwarded()
}

func (h unregisterController) serve(_ Context, req *kmsg.UnregisterControllerRequest, reply func(kmsg.Response)) {
	ctrlnode.Submit(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[struct{}] {
		return controller.UnregisterController(img, soft, kafka.NodeID(req.ControllerID))
	}, func(_ struct{}, err error) {
		resp := kmsg.NewPtrUnregisterControllerResponse()
		resp.ErrorCode, resp.ErrorMessage = code(err), kerr.Message(err)
		reply(resp)
	})
}
