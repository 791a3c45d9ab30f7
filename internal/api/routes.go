package api

import "github.com/ottla/ottla/internal/base/kafka"

// ClusterDeps is what the APIs about the cluster itself need.
type ClusterDeps struct {
	ClusterID string
	Node      kafka.NodeID
	View      View
	// Topics creates topics that Metadata was asked for; nil where
	// auto.create.topics.enable is off.
	Topics TopicMaker
	// PartitionLimit is max.request.partition.size.limit.
	PartitionLimit int
	// QuorumLeader is the active controller, or kafka.NoNode.
	QuorumLeader func() kafka.NodeID
}

// ClusterRoutes are the APIs that tell about the cluster, in the order of their
// keys, and those that are answered in full by saying that something is not
// switched on.
//
// What is not in any list is not advertised, and clients take that for an
// answer: without ConsumerGroupHeartbeat a consumer with
// group.protocol=consumer fails at once and says that the cluster does not
// support it; the same goes for share and streams groups, and for the parts of
// a transaction.
func ClusterRoutes(d ClusterDeps) []Route {
	onBroker := describeCluster{d.View, d.ClusterID, d.Node, brokerEndpoints, d.QuorumLeader}
	onController := describeCluster{d.View, d.ClusterID, d.Node, controllerEndpoints, d.QuorumLeader}
	return []Route{
		route(0, 13, metadata{d.View, d.ClusterID, d.Node, d.Topics}.serve),
		route(0, 1, saslHandshake).on(Everywhere).barrier(),
		route(1, 3, describeACLs),
		route(0, 2, saslAuthenticate).on(Everywhere).barrier(),
		route(1, 3, describeDelegationToken),
		route(0, 0, listReassignments{d.View}.serve).on(OnController).forwarded(),
		route(0, 1, describeQuotas{d.View}.serve),
		route(0, 0, describeScram{d.View}.serve).on(Everywhere),
		route(0, 2, onBroker.serve),
		route(0, 2, onController.serve).on(OnController),
		route(0, 0, describeTransactions),
		route(0, 2, listTransactions),
		route(0, 1, listConfigResources{d.View}.serve),
		route(0, 0, describeTopicPartitions{d.View, d.PartitionLimit}.serve),
	}
}
