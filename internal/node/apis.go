package node

import (
	"slices"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
)

// apis are the APIs that this node answers.
type apis struct {
	*env
	clusterID string
	metadata  *metadata
	// control is what an active controller serves. On a node without that role
	// it only says what can be forwarded.
	control []api.Route
	// active serves control; nil on a node without the controller role.
	active *api.Table
}

// newAPIs makes what depends on the controller, which is nil on a node without
// that role.
func newAPIs(e *env, clusterID string, m *metadata, c *controllerRole) *apis {
	a := &apis{env: e, clusterID: clusterID, metadata: m}
	var node *ctrlnode.Node
	if c != nil {
		node = c.node
	}
	a.control = slices.Concat(
		api.ControlRoutes(api.ControlDeps{Controller: node, View: m.view, Self: e.self.ID, Static: e.cfg, Log: e.log}),
		api.QuorumRoutes(m.quorum),
		a.shared(nil),
	)
	if c != nil {
		a.active = api.NewTable(api.OnController, a.about(), a.control)
	}
	return a
}

// shared are what brokers and controllers both answer. topics creates those that
// clients ask Metadata for; nil where nobody does.
func (a *apis) shared(topics api.TopicMaker) []api.Route {
	return append(api.ClusterRoutes(api.ClusterDeps{
		ClusterID: a.clusterID, Node: a.self.ID, View: a.metadata.view, Topics: topics,
		PartitionLimit: int(a.cfg.Int("max.request.partition.size.limit")),
		QuorumLeader:   a.metadata.leaderID,
	}), api.ConfigRoutes(a.metadata.view, a.self.ID, a.cfg)...)
}

// onController is the table of the controller's listeners: what an active
// controller serves, and the same in an Envelope.
func (a *apis) onController() *api.Table {
	return api.NewTable(api.OnController, a.about(), slices.Concat(a.control, []api.Route{api.EnvelopeRoute(a.active)}))
}

// onBroker is the table of the broker's listeners.
func (a *apis) onBroker(b *brokerRole) *api.Table {
	return api.NewTable(api.OnBroker, a.about(), slices.Concat(
		api.ForwardRoutes(b.channel, a.self.ID, a.control),
		a.shared(b.topicMaker()),
		api.DataRoutes(b.dataDeps()),
		api.GroupRoutes(api.GroupDeps{View: a.metadata.view, Groups: b.groups}),
	))
}

func (a *apis) about() api.About {
	return api.About{
		ClusterID: a.clusterID, Node: a.self.ID, View: a.metadata.view, Supported: image.Served(),
		KRaftVersion: a.metadata.kraftVersion,
	}
}
