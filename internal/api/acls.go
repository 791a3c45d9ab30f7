package api

import (
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The ACL requests of a node without an authorizer. The texts are Kafka's; it
// speaks of the broker on a controller's listener, too.
const (
	noAuthorizer         = "No Authorizer is configured."
	noAuthorizerOnBroker = "No Authorizer is configured on the broker"
)

func describeACLs(_ Context, _ *kmsg.DescribeACLsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeACLsResponse()
	text := noAuthorizerOnBroker
	resp.ErrorCode, resp.ErrorMessage = int16(kerr.SecurityDisabled), &text
	resp.Resources = []kmsg.DescribeACLsResponseResource{}
	return resp
}

func createACLs(_ Context, req *kmsg.CreateACLsRequest) kmsg.Response {
	resp := kmsg.NewPtrCreateACLsResponse()
	resp.Results = make([]kmsg.CreateACLsResponseResult, 0, len(req.Creations))
	text := noAuthorizer
	for range req.Creations {
		resp.Results = append(resp.Results, kmsg.CreateACLsResponseResult{ErrorCode: int16(kerr.SecurityDisabled), ErrorMessage: &text})
	}
	return resp
}

func deleteACLs(_ Context, req *kmsg.DeleteACLsRequest) kmsg.Response {
	resp := kmsg.NewPtrDeleteACLsResponse()
	resp.Results = make([]kmsg.DeleteACLsResponseResult, 0, len(req.Filters))
	text := noAuthorizer
	for range req.Filters {
		r := kmsg.NewDeleteACLsResponseResult()
		r.ErrorCode, r.ErrorMessage = int16(kerr.SecurityDisabled), &text
		r.MatchingACLs = []kmsg.DeleteACLsResponseResultMatchingACL{}
		resp.Results = append(resp.Results, r)
	}
	return resp
}
