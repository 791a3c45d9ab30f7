package api

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// brokerRegistration answers BrokerRegistration (KIP-631, 858, 966).
type brokerRegistration struct{ controller *ctrlnode.Node }

func (h brokerRegistration) route() Route { return later(0, 4, h.serve).on(OnController) }

func (h brokerRegistration) serve(c Context, req *kmsg.BrokerRegistrationRequest, reply func(kmsg.Response)) {
	want := registrationOf(req)
	want.SameProcess = c.Conn.InProcess
	ctrlnode.Submit(h.controller, controlTimeout, func(now kafka.Instant, img *image.Image, soft *controller.Soft) controller.Decision[controller.Registered] {
		return controller.RegisterBroker(img, soft, now, want)
	}, func(registered controller.Registered, err error) {
		resp := kmsg.NewPtrBrokerRegistrationResponse()
		resp.ErrorCode, resp.BrokerEpoch = code(err), int64(kafka.NoBrokerEpoch)
		if err == nil {
			resp.BrokerEpoch = int64(registered.Epoch)
		}
		reply(resp)
	})
}

func registrationOf(req *kmsg.BrokerRegistrationRequest) controller.Registration {
	want := controller.Registration{
		Broker: kafka.NodeID(req.BrokerID), ClusterID: req.ClusterID, Incarnation: req.IncarnationID,
		Rack: req.Rack, Migrating: req.IsMigratingZkBroker, Dirs: dirIDs(req.LogDirs), PreviousEpoch: kafka.NoBrokerEpoch,
	}
	if req.Version >= 3 {
		want.PreviousEpoch = kafka.BrokerEpoch(req.PreviousBrokerEpoch)
	}
	for _, l := range req.Listeners {
		want.Endpoints = append(want.Endpoints, image.Endpoint{Name: l.Name, Host: l.Host, Port: l.Port, Protocol: l.SecurityProtocol})
	}
	for _, f := range req.Features {
		want.Features = append(want.Features, image.VersionRange{Name: f.Name, Min: f.MinSupportedVersion, Max: f.MaxSupportedVersion})
	}
	return want
}
