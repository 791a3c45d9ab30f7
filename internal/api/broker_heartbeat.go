package api

import (
	"log/slog"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// brokerHeartbeat answers BrokerHeartbeat (KIP-631, 858, 1066).
type brokerHeartbeat struct {
	controller *ctrlnode.Node
	log        *slog.Logger
}

func (h brokerHeartbeat) route() Route { return later(0, 2, h.serve).on(OnController) }

func (h brokerHeartbeat) serve(c Context, req *kmsg.BrokerHeartbeatRequest, reply func(kmsg.Response)) {
	want := controller.Beat{
		Broker: kafka.NodeID(req.BrokerID), Epoch: kafka.BrokerEpoch(req.BrokerEpoch),
		MetadataOffset: kafka.Offset(req.CurrentMetadataOffset),
		WantFence:      req.WantFence, WantShutDown: req.WantShutdown,
		OfflineDirs: dirIDs(req.OfflineLogDirs), Cordoned: dirIDs(req.CordonedLogDirs),
	}
	ctrlnode.SubmitRepeatable(h.controller, controlTimeout, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.Beaten] {
		return controller.Heartbeat(img, soft, now, want)
	}, func(beaten controller.Beaten, err error) {
		resp := kmsg.NewPtrBrokerHeartbeatResponse()
		resp.ErrorCode, resp.IsFenced = code(err), true
		if kerr.Code(resp.ErrorCode) == kerr.RequestTimedOut {
			h.controller.HeartbeatTimedOut()
		}
		if beaten.Unplaced > 0 && !beaten.Fenced {
			h.log.Warn("broker is unfenced although the directories of some replicas are not known",
				"broker", req.BrokerID, "replicas", beaten.Unplaced)
		}
		if err == nil {
			if !beaten.Fenced {
				h.controller.Heard(c.Ctx, c.Conn, want.Broker, want.Epoch)
			}
			resp.IsCaughtUp, resp.IsFenced, resp.ShouldShutdown = beaten.CaughtUp, beaten.Fenced, beaten.ShutDown
		}
		reply(resp)
	})
}
