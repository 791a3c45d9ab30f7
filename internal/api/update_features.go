package api

import (
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// updateFeatures answers UpdateFeatures (KIP-584).
type updateFeatures struct{ controller *ctrlnode.Node }

func (h updateFeatures) route() Route { return later(0, 2, h.serve).on(OnController).forwarded() }

func (h updateFeatures) serve(_ Context, req *kmsg.UpdateFeaturesRequest, reply func(kmsg.Response)) {
	want := controller.FeaturesToUpdate{ValidateOnly: req.ValidateOnly}
	for _, u := range req.FeatureUpdates {
		how := controller.UpgradeType(u.UpgradeType)
		if req.Version == 0 {
			how = controller.Upgrade
			if u.AllowDowngrade {
				how = controller.SafeDowngrade
			}
		}
		want.Updates = append(want.Updates, controller.FeatureUpdate{Feature: u.Feature, Level: u.MaxVersionLevel, Type: how})
	}
	ctrlnode.UpdateFeatures(h.controller, within(req.TimeoutMillis), want, func(_ struct{}, err error) {
		resp := kmsg.NewPtrUpdateFeaturesResponse()
		resp.ErrorCode, resp.ErrorMessage = code(err), kerr.Message(err)
		if req.Version < 2 {
			// All share one fate.
			for _, u := range req.FeatureUpdates {
				r := kmsg.NewUpdateFeaturesResponseResult()
				r.Feature, r.ErrorCode, r.ErrorMessage = u.Feature, resp.ErrorCode, resp.ErrorMessage
				resp.Results = append(resp.Results, r)
			}
		}
		reply(resp)
	})
}
