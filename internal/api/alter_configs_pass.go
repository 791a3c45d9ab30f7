package api

import (
	"context"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// passedConfigs answers the two APIs that change configurations on a broker's
// listener: it refuses what only a broker can judge and passes the rest on.
type passedConfigs struct {
	self kafka.NodeID
	to   Forwarder
}

// PassedConfigRoutes are AlterConfigs and IncrementalAlterConfigs as a broker
// serves them.
func PassedConfigRoutes(self kafka.NodeID, to Forwarder) []Route {
	h := passedConfigs{self, to}
	return []Route{
		later(0, 2, h.alter).forwarded(),
		later(0, 1, h.incremental).forwarded(),
	}
}

// pass takes what is left of a request to the active controller. With merge the
// reply must be one that can be looked into.
func (h passedConfigs) pass(c Context, req kmsg.Request, merge bool, reply func(kmsg.Response)) {
	ctx, cancel := context.WithTimeout(c.Ctx, forwardPatience)
	h.to.Forward(ctx, c.Conn, req, func(resp kmsg.Response, err error) {
		cancel()
		if err == nil && merge {
			resp, err = opened(resp)
		}
		if err != nil {
			resp = refusal(req, err)
		}
		reply(resp)
	})
}

// judged is a key and its new value as a broker looks at it.
type judged struct {
	key   string
	value *string
	// removes: the key goes back to its default, no value is needed.
	removes bool
}

// alteration is what a request changes of one resource.
type alteration struct {
	resource image.Resource
	keys     []judged
}

// judgeAll judges what a request changes; where it refuses something, the reason
// stands at its index.
func (h passedConfigs) judgeAll(all []alteration) []error {
	reasons := make([]error, len(all))
	if len(all) == 1 { // as most requests are
		reasons[0] = h.judge(all[0].resource, false, all[0].keys)
		return reasons
	}
	count := map[image.Resource]int{}
	for _, a := range all {
		count[a.resource]++
	}
	for i, a := range all {
		reasons[i] = h.judge(a.resource, count[a.resource] > 1, a.keys)
	}
	return reasons
}

// judge finds what a broker refuses about a change. twice tells that the
// resource stands more than once in the request.
func (h passedConfigs) judge(r image.Resource, twice bool, changes []judged) error {
	if twice {
		return kerr.Errorf(kerr.InvalidRequest, "resource %v %q stands more than once in the request", r.Type, r.Name)
	}
	seen := map[string]bool{}
	for _, c := range changes {
		switch {
		case seen[c.key]:
			return kerr.Errorf(kerr.InvalidRequest, "key %s stands more than once for resource %v %q", c.key, r.Type, r.Name)
		case c.value == nil && !c.removes:
			return kerr.Errorf(kerr.InvalidRequest, "null value not supported for: %s", c.key)
		}
		seen[c.key] = true
	}
	switch r.Type {
	case image.BrokerResource:
		return h.judgeBroker(r.Name, changes)
	case image.BrokerLoggerResource:
		return kerr.Errorf(kerr.InvalidRequest, "log levels are set for the whole process with ottla.log.level, not per logger")
	case image.TopicResource, image.ClientMetrics, image.GroupResource:
		return nil
	}
	return kerr.Errorf(kerr.InvalidRequest, "resource type %d does not exist", int8(r.Type))
}

func (h passedConfigs) judgeBroker(name string, changes []judged) error {
	check := config.CheckClusterConfig
	if name != "" {
		if err := (describeConfigs{self: h.self}).mustBeSelf(name); err != nil {
			return err
		}
		check = config.CheckBrokerConfig
	}
	for _, c := range changes {
		if c.removes {
			continue
		}
		if err := check(c.key, *c.value); err != nil {
			return err
		}
	}
	return nil
}

func (h passedConfigs) incremental(c Context, req *kmsg.IncrementalAlterConfigsRequest, reply func(kmsg.Response)) {
	if err := tooMany(len(req.Resources)); err != nil {
		reply(refusal(req, err))
		return
	}
	asked := make([]alteration, len(req.Resources))
	for i, r := range req.Resources {
		asked[i] = alteration{resourceOf(r.ResourceType, r.ResourceName), incrementalChanges(r)}
	}
	own := kmsg.NewPtrIncrementalAlterConfigsResponse()
	rest := *req
	rest.Resources = nil
	for i, reason := range h.judgeAll(asked) {
		if reason != nil {
			own.Resources = append(own.Resources, incrementalResult(asked[i].resource, reason))
		} else {
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

func incrementalChanges(r kmsg.IncrementalAlterConfigsRequestResource) []judged {
	changes := make([]judged, len(r.Configs))
	for i, c := range r.Configs {
		changes[i] = judged{c.Name, c.Value, c.Op == kmsg.IncrementalAlterConfigOpDelete}
		// What is taken from a list may be anything; the list that results is
		// checked where it is known.
		if c.Op == kmsg.IncrementalAlterConfigOpSubtract && c.Value != nil {
			changes[i].removes = true
		}
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
		asked[i].resource = resourceOf(r.ResourceType, r.ResourceName)
		for _, c := range r.Configs {
			asked[i].keys = append(asked[i].keys, judged{key: c.Name, value: c.Value})
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
