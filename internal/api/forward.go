package api

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
)

// Forwarder takes a client's request to the active controller and brings its
// answer. done is called once. The error is what the client should see if the
// controller could not be asked.
type Forwarder interface {
	Forward(ctx context.Context, from *transport.ConnInfo, req kmsg.Request, done func(kmsg.Response, error))
}

// forwardPatience is how long a forwarded request may look for the active
// controller: what clients wait for an answer by default.
const forwardPatience = 30 * time.Second

// ForwardRoutes are the APIs that a broker takes to the active controller: all
// those of the controller's table that are marked, at the same versions. Of
// configurations the broker judges its part first.
func ForwardRoutes(f Forwarder, self kafka.NodeID, controller []Route) []Route {
	routes := PassedConfigRoutes(self, f)
	for _, r := range controller {
		if r.Forwarded && !serves(routes, r.Key) {
			serve := forward{f, r.Key}.serve
			routes = append(routes, raw(r.Key, r.Min, r.Max, serve).forwarded())
		}
	}
	return routes
}

func serves(routes []Route, key int16) bool {
	return slices.ContainsFunc(routes, func(r Route) bool { return r.Key == key })
}

type forward struct {
	to  Forwarder
	key int16
}

func (f forward) serve(r *transport.Request, reply func(transport.Reply)) {
	ctx, cancel := context.WithTimeout(r.Ctx, forwardPatience)
	f.to.Forward(ctx, r.Conn, r.Body, func(resp kmsg.Response, err error) {
		cancel()
		if err != nil {
			resp = refusal(r.Body, err)
		}
		if resp == nil {
			reply(transport.CloseConn)
			return
		}
		resp.SetVersion(r.Version)
		reply(transport.FromMessage(resp))
	})
}

// refusal is the response to a request that the controller was not asked, or
// nil where the response has no place for one error: then the connection is
// closed, as after any request that gets no answer.
func refusal(req kmsg.Request, err error) kmsg.Response {
	code, message := int16(kerr.Of(err)), kerr.Message(err)
	switch req := req.(type) {
	case *kmsg.CreateTopicsRequest:
		resp := kmsg.NewPtrCreateTopicsResponse()
		for _, t := range req.Topics {
			one := kmsg.NewCreateTopicsResponseTopic()
			one.Topic, one.ErrorCode, one.ErrorMessage = t.Topic, code, message
			resp.Topics = append(resp.Topics, one)
		}
		return resp
	case *kmsg.DeleteTopicsRequest:
		resp := kmsg.NewPtrDeleteTopicsResponse()
		for _, t := range req.Topics {
			one := kmsg.NewDeleteTopicsResponseTopic()
			one.Topic, one.TopicID, one.ErrorCode, one.ErrorMessage = t.Topic, t.TopicID, code, message
			resp.Topics = append(resp.Topics, one)
		}
		for _, name := range req.TopicNames {
			one := kmsg.NewDeleteTopicsResponseTopic()
			one.Topic, one.ErrorCode = kmsg.StringPtr(name), code
			resp.Topics = append(resp.Topics, one)
		}
		return resp
	case *kmsg.CreatePartitionsRequest:
		resp := kmsg.NewPtrCreatePartitionsResponse()
		for _, t := range req.Topics {
			one := kmsg.NewCreatePartitionsResponseTopic()
			one.Topic, one.ErrorCode, one.ErrorMessage = t.Topic, code, message
			resp.Topics = append(resp.Topics, one)
		}
		return resp
	case *kmsg.IncrementalAlterConfigsRequest:
		resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
		for _, r := range req.Resources {
			one := kmsg.NewIncrementalAlterConfigsResponseResource()
			one.ResourceType, one.ResourceName, one.ErrorCode, one.ErrorMessage = r.ResourceType, r.ResourceName, code, message
			resp.Resources = append(resp.Resources, one)
		}
		return resp
	case *kmsg.AlterConfigsRequest:
		resp := kmsg.NewPtrAlterConfigsResponse()
		for _, r := range req.Resources {
			one := kmsg.NewAlterConfigsResponseResource()
			one.ResourceType, one.ResourceName, one.ErrorCode, one.ErrorMessage = r.ResourceType, r.ResourceName, code, message
			resp.Resources = append(resp.Resources, one)
		}
		return resp
	}
	return refusalAtTop(req, code, message)
}

// refusalAtTop covers responses that carry one error for the whole request.
func refusalAtTop(req kmsg.Request, code int16, message *string) kmsg.Response {
	switch req.(type) {
	case *kmsg.UpdateFeaturesRequest:
		resp := kmsg.NewPtrUpdateFeaturesResponse()
		resp.ErrorCode, resp.ErrorMessage = code, message
		return resp
	case *kmsg.ElectLeadersRequest:
		resp := kmsg.NewPtrElectLeadersResponse()
		resp.ErrorCode = code
		return resp
	case *kmsg.AlterPartitionAssignmentsRequest:
		resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
		resp.ErrorCode, resp.ErrorMessage = code, message
		return resp
	case *kmsg.ListPartitionReassignmentsRequest:
		resp := kmsg.NewPtrListPartitionReassignmentsResponse()
		resp.ErrorCode, resp.ErrorMessage = code, message
		return resp
	case *kmsg.DescribeQuorumRequest:
		resp := kmsg.NewPtrDescribeQuorumResponse()
		resp.ErrorCode, resp.ErrorMessage = code, message
		return resp
	case *kmsg.UnregisterBrokerRequest:
		resp := kmsg.NewPtrUnregisterBrokerResponse()
		resp.ErrorCode, resp.ErrorMessage = code, message
		return resp
	}
	return nil
}
