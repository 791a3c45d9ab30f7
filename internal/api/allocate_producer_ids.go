package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// allocateProducerIDs answers AllocateProducerIds (KIP-730).
type allocateProducerIDs struct{ controller *ctrlnode.Node }

func (h allocateProducerIDs) route() Route { return later(0, 0, h.serve).on(OnController) }

func (h allocateProducerIDs) serve(_ Context, req *kmsg.AllocateProducerIDsRequest, reply func(kmsg.Response)) {
	ctrlnode.Submit(h.controller, controlTimeout, func(_ kafka.Instant, img *image.Image, _ *controller.Soft) controller.Decision[controller.ProducerIDs] {
		return controller.AllocateProducerIDs(img, kafka.NodeID(req.BrokerID), kafka.BrokerEpoch(req.BrokerEpoch))
	}, func(ids controller.ProducerIDs, err error) {
		resp := kmsg.NewPtrAllocateProducerIDsResponse()
		resp.ErrorCode = code(err)
		if err == nil {
			resp.ProducerIDStart, resp.ProducerIDLen = int64(ids.First), ids.Count
		}
		reply(resp)
	})
}
