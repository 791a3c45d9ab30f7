package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
)

// denies tells why the sender may not do something to the configuration of a resource;
// nil: it may. Those of brokers and of client metrics belong to the cluster.
func (a *Access) denies(r *transport.Request, op auth.Operation, of image.Resource) error {
	to, err := auth.TheCluster, &kerr.Error{Code: kerr.ClusterAuthorizationFailed, Message: "Cluster authorization failed."}
	switch of.Type {
	case image.TopicResource:
		to, err = auth.Resource{Kind: auth.Topic, Name: of.Name}, errTopicDenied
	case image.GroupResource:
		to, err = auth.Resource{Kind: auth.Group, Name: of.Name}, &kerr.Error{Code: kerr.GroupAuthorizationFailed, Message: "Group authorization failed."}
	}
	if a.allows(r, op, to) {
		return nil
	}
	return err
}

func splitAlterConfigs(a *Access, r *transport.Request) (kmsg.Request, func(kmsg.Response)) {
	rest := *r.Body.(*kmsg.AlterConfigsRequest)
	why := func(q kmsg.AlterConfigsRequestResource) error {
		return a.denies(r, auth.AlterConfigs, resourceOf(q.ResourceType, q.ResourceName))
	}
	var denied []kmsg.AlterConfigsRequestResource
	rest.Resources, denied = sorted(rest.Resources, func(q kmsg.AlterConfigsRequestResource) bool { return why(q) == nil })
	return &rest, func(resp kmsg.Response) {
		altered := resp.(*kmsg.AlterConfigsResponse)
		for _, q := range denied {
			one, err := kmsg.NewAlterConfigsResponseResource(), why(q)
			one.ResourceType, one.ResourceName = q.ResourceType, q.ResourceName
			one.ErrorCode, one.ErrorMessage = code(err), kerr.Message(err)
			altered.Resources = append(altered.Resources, one)
		}
	}
}

func splitIncrementalAlterConfigs(a *Access, r *transport.Request) (kmsg.Request, func(kmsg.Response)) {
	rest := *r.Body.(*kmsg.IncrementalAlterConfigsRequest)
	why := func(q kmsg.IncrementalAlterConfigsRequestResource) error {
		return a.denies(r, auth.AlterConfigs, resourceOf(q.ResourceType, q.ResourceName))
	}
	var denied []kmsg.IncrementalAlterConfigsRequestResource
	rest.Resources, denied = sorted(rest.Resources, func(q kmsg.IncrementalAlterConfigsRequestResource) bool { return why(q) == nil })
	return &rest, func(resp kmsg.Response) {
		altered := resp.(*kmsg.IncrementalAlterConfigsResponse)
		for _, q := range denied {
			altered.Resources = append(altered.Resources, incrementalResult(resourceOf(q.ResourceType, q.ResourceName), why(q)))
		}
	}
}

func splitDescribeConfigs(a *Access, r *transport.Request) (kmsg.Request, func(kmsg.Response)) {
	rest := *r.Body.(*kmsg.DescribeConfigsRequest)
	why := func(q kmsg.DescribeConfigsRequestResource) error {
		return a.denies(r, auth.DescribeConfigs, resourceOf(q.ResourceType, q.ResourceName))
	}
	var denied []kmsg.DescribeConfigsRequestResource
	rest.Resources, denied = sorted(rest.Resources, func(q kmsg.DescribeConfigsRequestResource) bool { return why(q) == nil })
	return &rest, func(resp kmsg.Response) {
		described := resp.(*kmsg.DescribeConfigsResponse)
		for _, q := range denied {
			one, err := kmsg.NewDescribeConfigsResponseResource(), why(q)
			one.ResourceType, one.ResourceName = q.ResourceType, q.ResourceName
			one.ErrorCode, one.ErrorMessage = code(err), kerr.Message(err)
			described.Resources = append(described.Resources, one)
		}
	}
}
