package toctrl

import "github.com/twmb/franz-go/pkg/kmsg"

// Repeatable tells whether a request may have its effect twice without harm: it
// only reads or checks, or it says what is to be and not what is to change.
// Everything else is not sent again once it may have reached a controller: a
// topic that was created, deleted and created again is not the one that was asked
// for.
func Repeatable(req kmsg.Request) bool {
	switch r := req.(type) {
	case *kmsg.ApiVersionsRequest, *kmsg.DescribeQuorumRequest, *kmsg.DescribeClusterRequest, *kmsg.DescribeConfigsRequest,
		*kmsg.ListPartitionReassignmentsRequest, *kmsg.DescribeDelegationTokenRequest:
		return true
	case *kmsg.AlterPartitionRequest, *kmsg.BrokerHeartbeatRequest:
		return true // the epochs in them refuse what is out of date
	case *kmsg.IncrementalAlterConfigsRequest:
		return r.ValidateOnly || replaces(r)
	case *kmsg.AlterConfigsRequest:
		return r.ValidateOnly
	case *kmsg.CreateTopicsRequest:
		return r.ValidateOnly
	case *kmsg.CreatePartitionsRequest:
		return r.ValidateOnly
	case *kmsg.UpdateFeaturesRequest:
		return r.ValidateOnly
	case *kmsg.AlterClientQuotasRequest:
		return r.ValidateOnly
	}
	return false
}

// replaces tells whether all changes set or delete values, whatever they were.
func replaces(r *kmsg.IncrementalAlterConfigsRequest) bool {
	for _, resource := range r.Resources {
		for _, c := range resource.Configs {
			if c.Op != kmsg.IncrementalAlterConfigOpSet && c.Op != kmsg.IncrementalAlterConfigOpDelete {
				return false
			}
		}
	}
	return true
}
