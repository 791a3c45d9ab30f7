package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// unregisterBroker answers UnregisterBroker (KIP-631).
type unregisterBroker struct{ controller *ctrlnode.Node }

func (h unregisterBroker) route() Route { return later(0, 0, h.serve).on(OnController).forwarded() }

func (h unregisterBroker) serve(_ Context, req *kmsg.UnregisterBrokerRequest, reply func(kmsg.Response)) {
	ctrlnode.Submit(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[struct{}] {
		return controller.UnregisterBroker(img, soft, kafka.NodeID(req.BrokerID))
	}, func(_ struct{}, err error) {
		resp := kmsg.NewPtrUnregisterBrokerResponse()
		resp.ErrorCode, resp.ErrorMessage = code(err), kerr.Message(err)
		reply(resp)
	})
}
