package api

import (
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// passedConfigs answers the two APIs that change configurations on a broker's
// listener: it refuses what only a broker can judge and passes the rest on.
type passedConfigs struct {
	ConfigJudge
	to Forwarder
}

// PassedConfigRoutes are AlterConfigs and IncrementalAlterConfigs as a broker
// serves them.
func PassedConfigRoutes(judge ConfigJudge, to Forwarder) []Route {
	h := passedConfigs{judge, to}
	return []Route{
		later(0, 2, h.alter).forwarded(),
		later(0, 1, h.incremental).forwarded(),
	}
}

// pass takes what is left of a request to the active controller. With merge the
// reply must be one that can be looked into.
func (h passedConfigs) pass(c Context, req kmsg.Request, merge bool, reply func(kmsg.Response)) {
	h.to.Forward(c.Ctx, c.Caller(), req, func(resp kmsg.Response, err error) {
		if err == nil && merge {
			resp, err = opened(resp)
		}
		if err != nil {
			resp = refusal(req, err)
		}
		reply(resp)
	})
}

// alteration is what a request changes of one resource.
type alteration struct {
	resource image.Resource
	replaces bool // keys that are not named go back to their defaults
	changes  []controller.ConfigChange
}

// judgeAll judges what a request changes; where it refuses something, the reason
// stands at its index.
func (h passedConfigs) judgeAll(all []alteration) []error {
	reasons := make([]error, len(all))
	if len(all) == 1 { // as most requests are
		reasons[0] = h.judge(all[0], false)
		return reasons
	}
	count := map[image.Resource]int{}
	for _, a := range all {
		count[a.resource]++
	}
	for i, a := range all {
		reasons[i] = h.judge(a, count[a.resource] > 1)
	}
	return reasons
}

// judge finds what a broker refuses about a change. twice tells that the
// resource stands more than once in the request.
func (h passedConfigs) judge(a alteration, twice bool) error {
	if err := a.sane(twice); err != nil {
		return err
	}
	switch a.resource.Type {
	case image.BrokerResource:
		return h.broker(a)
	case image.BrokerLoggerResource:
		return h.loggers(a)
	case image.TopicResource, image.ClientMetrics, image.GroupResource:
		return nil
	}
	return kerr.Errorf(kerr.InvalidRequest, "resource type %d does not exist", int8(a.resource.Type))
}

func (h passedConfigs) incremental(c Context, req *kmsg.IncrementalAlterConfigsRequest, reply func(kmsg.Response)) {
	if err := tooMany(len(req.Resources)); err != nil {
		reply(refusal(req, err))
		return
	}
	asked := make([]alteration, len(req.Resources))
	for i, r := range req.Resources {
		asked[i] = alteration{resource: resourceOf(r.ResourceType, r.ResourceName), changes: incrementalChanges(r)}
	}
	own := kmsg.NewPtrIncrementalAlterConfigsResponse()
	rest := *req
	rest.Resources = nil
	for i, reason := range h.judgeAll(asked) {
		switch a := asked[i]; {
		case reason != nil:
			own.Resources = append(own.Resources, incrementalResult(a.resource, reason))
		case a.resource.Type == image.BrokerLoggerResource: // of this process, and nothing to store
			if !req.ValidateOnly {
				h.setLevels(a.changes)
			}
			own.Resources = append(own.Resources, incrementalResult(a.resource, nil))
		default:
			rest.Resources = append(rest.Resources, req.Resources[i])
		}
	}
	if len(rest.Resources) == 0 {
		reply(own)
		return
	}
	h.pass(c, &rest, len(own.Resources) > 0, func(resp kmsg.Response) {
		if theirs, ok := resp.(*kmsg.IncrementalAlterConfigsResponse); ok {
			theirs.Resources = append(own.Resources, theirs.Resources...)
		}
		reply(resp)
	})
}

func incrementalChanges(r kmsg.IncrementalAlterConfigsRequestResource) []controller.ConfigChange {
	changes := make([]controller.ConfigChange, len(r.Configs))
	for i, c := range r.Configs {
		changes[i] = controller.ConfigChange{Op: controller.ConfigOp(c.Op), Key: c.Name, Value: c.Value}
	}
	return changes
}

func (h passedConfigs) alter(c Context, req *kmsg.AlterConfigsRequest, reply func(kmsg.Response)) {
	if err := tooMany(len(req.Resources)); err != nil {
		reply(refusal(req, err))
		return
	}
	asked := make([]alteration, len(req.Resources))
	for i, r := range req.Resources {
		asked[i].resource, asked[i].replaces = resourceOf(r.ResourceType, r.ResourceName), true
		for _, c := range r.Configs {
			asked[i].changes = append(asked[i].changes, controller.ConfigChange{Key: c.Name, Value: c.Value})
		}
	}
	own := kmsg.NewPtrAlterConfigsResponse()
	rest := *req
	rest.Resources = nil
	for i, reason := range h.judgeAll(asked) {
		r := req.Resources[i]
		if reason == nil {
			rest.Resources = append(rest.Resources, r)
			continue
		}
		refused := kmsg.NewAlterConfigsResponseResource()
		refused.ResourceType, refused.ResourceName = r.ResourceType, r.ResourceName
		refused.ErrorCode, refused.ErrorMessage = code(reason), kerr.Message(reason)
		own.Resources = append(own.Resources, refused)
	}
	if len(rest.Resources) == 0 {
		reply(own)
		return
	}
	h.pass(c, &rest, len(own.Resources) > 0, func(resp kmsg.Response) {
		if theirs, ok := resp.(*kmsg.AlterConfigsResponse); ok {
			theirs.Resources = append(own.Resources, theirs.Resources...)
		}
		reply(resp)
	})
}
