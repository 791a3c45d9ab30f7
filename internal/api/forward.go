package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/edge/transport"
)

// Forwarder takes a client's request to the active controller and brings its
// answer, within a bounded time. done is called once. The error is what the client should see if the
// controller could not be asked.
type Forwarder interface {
	Forward(ctx context.Context, from transport.Caller, req kmsg.Request, done func(kmsg.Response, error))
}

// ForwardRoutes are the APIs that a broker takes to the active controller: all
// those of the controller's table that are marked, at the same versions. Of
// configurations the broker judges its part first, and tokens it refuses itself.
func ForwardRoutes(f Forwarder, judge ConfigJudge, controller []Route) []Route {
	routes := append(PassedConfigRoutes(judge, f), refusedTokenRoutes()...)
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
	f.to.Forward(r.Ctx, r.Caller(), r.Body, func(resp kmsg.Response, err error) {
		// A version that the controller does not know closes the connection, as
		// one that the broker itself does not know.
		if err != nil && kerr.Of(err) != kerr.UnsupportedVersion {
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
	code, same, told := int16(kerr.Of(err)), sameErrorOf(err), 0
	message := func() *string {
		told++
		return kerr.Message(same.at(told - 1))
	}
	switch req := req.(type) {
	case *kmsg.CreateTopicsRequest:
		resp := kmsg.NewPtrCreateTopicsResponse()
		resp.Topics = refuseEach(req.Topics, func(t kmsg.CreateTopicsRequestTopic, r *kmsg.CreateTopicsResponseTopic) {
			r.Topic, r.ErrorCode, r.ErrorMessage = t.Topic, code, message()
		})
		return resp
	case *kmsg.DeleteTopicsRequest:
		resp := kmsg.NewPtrDeleteTopicsResponse()
		resp.Topics = refuseEach(req.Topics, func(t kmsg.DeleteTopicsRequestTopic, r *kmsg.DeleteTopicsResponseTopic) {
			r.Topic, r.TopicID, r.ErrorCode, r.ErrorMessage = t.Topic, t.TopicID, code, message()
		})
		resp.Topics = append(resp.Topics, refuseEach(req.TopicNames, func(name string, r *kmsg.DeleteTopicsResponseTopic) {
			r.Topic, r.ErrorCode, r.ErrorMessage = &name, code, message()
		})...)
		return resp
	case *kmsg.CreatePartitionsRequest:
		resp := kmsg.NewPtrCreatePartitionsResponse()
		resp.Topics = refuseEach(req.Topics, func(t kmsg.CreatePartitionsRequestTopic, r *kmsg.CreatePartitionsResponseTopic) {
			r.Topic, r.ErrorCode, r.ErrorMessage = t.Topic, code, message()
		})
		return resp
	case *kmsg.IncrementalAlterConfigsRequest:
		resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
		resp.Resources = refuseEach(req.Resources, func(q kmsg.IncrementalAlterConfigsRequestResource, r *kmsg.IncrementalAlterConfigsResponseResource) {
			r.ResourceType, r.ResourceName, r.ErrorCode, r.ErrorMessage = q.ResourceType, q.ResourceName, code, message()
		})
		return resp
	case *kmsg.AlterConfigsRequest:
		resp := kmsg.NewPtrAlterConfigsResponse()
		resp.Resources = refuseEach(req.Resources, func(q kmsg.AlterConfigsRequestResource, r *kmsg.AlterConfigsResponseResource) {
			r.ResourceType, r.ResourceName, r.ErrorCode, r.ErrorMessage = q.ResourceType, q.ResourceName, code, message()
		})
		return resp
	case *kmsg.AlterClientQuotasRequest:
		resp := kmsg.NewPtrAlterClientQuotasResponse()
		resp.Entries = refuseEach(req.Entries, func(e kmsg.AlterClientQuotasRequestEntry, r *kmsg.AlterClientQuotasResponseEntry) {
			for _, part := range e.Entity {
				r.Entity = append(r.Entity, kmsg.AlterClientQuotasResponseEntryEntity{Type: part.Type, Name: part.Name})
			}
			r.ErrorCode, r.ErrorMessage = code, message()
		})
		return resp
	case *kmsg.AlterUserSCRAMCredentialsRequest:
		resp := kmsg.NewPtrAlterUserSCRAMCredentialsResponse()
		resp.Results = refuseEach(scramUsersIn(req), func(user string, r *kmsg.AlterUserSCRAMCredentialsResponseResult) {
			r.User, r.ErrorCode, r.ErrorMessage = user, code, message()
		})
		return resp
	case *kmsg.CreateACLsRequest:
		resp := kmsg.NewPtrCreateACLsResponse()
		resp.Results = refuseEach(req.Creations, func(_ kmsg.CreateACLsRequestCreation, r *kmsg.CreateACLsResponseResult) {
			r.ErrorCode, r.ErrorMessage = code, message()
		})
		return resp
	case *kmsg.ElectLeadersRequest:
		return electionResponse(req, nil, err)
	case *kmsg.DeleteACLsRequest:
		resp := kmsg.NewPtrDeleteACLsResponse()
		resp.Results = refuseEach(req.Filters, func(_ kmsg.DeleteACLsRequestFilter, r *kmsg.DeleteACLsResponseResult) {
			r.ErrorCode, r.ErrorMessage = code, message()
		})
		return resp
	}
	return refusalAtTop(req, code, kerr.Message(err))
}

// refuseEach makes one entry of a response for each of a request. fill says what
// differs from Kafka's defaults.
func refuseEach[Q, R any, P interface {
	*R
	Default()
}](asked []Q, fill func(Q, P)) []R {
	entries := make([]R, len(asked))
	for i := range asked {
		entry := P(&entries[i])
		entry.Default()
		fill(asked[i], entry)
	}
	return entries
}

// refusalAtTop covers responses that carry one error for the whole request.
func refusalAtTop(req kmsg.Request, code int16, message *string) kmsg.Response {
	switch req.(type) {
	case *kmsg.UpdateFeaturesRequest:
		resp := kmsg.NewPtrUpdateFeaturesResponse()
		resp.ErrorCode, resp.ErrorMessage = code, message
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
