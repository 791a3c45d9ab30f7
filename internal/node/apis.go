package node

import (
	"slices"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/core/auth"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
)

// apis are the APIs that this node answers.
type apis struct {
	*env
	clusterID string
	metadata  *metadata
	features  *featureGate
	// control is what an active controller serves. On a node without that role
	// it only says what can be forwarded.
	control []api.Route
	// access is who may do what on the controller's listeners; nil: everybody
	// everything.
	access *api.Access
	// active serves control; nil on a node without the controller role.
	active *api.Table
}

// newAPIs makes what depends on the controller, which is nil on a node without
// that role.
func newAPIs(e *env, clusterID string, m *metadata, f *featureGate, c *controllerRole) *apis {
	a := &apis{env: e, clusterID: clusterID, metadata: m, features: f}
	var node *ctrlnode.Node
	if c != nil {
		node = c.node
	}
	a.access = accessOf(e, m)
	a.control = a.access.Guard(slices.Concat(
		api.ControlRoutes(api.ControlDeps{Controller: node, View: m.view, Self: e.self.ID, Static: e.cfg, Loggers: e.levels, Log: e.log, Access: a.access}),
		api.QuorumRoutes(m.quorum),
		a.shared(nil),
	))
	if c != nil {
		a.active = api.NewTable(api.OnController, a.aboutController(), a.control)
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
	}), api.ConfigRoutes(a.judge())...)
}

// judge is what this node tells of settings by, and judges changes of them.
func (a *apis) judge() api.ConfigJudge {
	return api.ConfigJudge{Self: a.self.ID, View: a.metadata.view, Static: a.cfg, Loggers: a.levels}
}

// onController is the table of the controller's listeners: what an active
// controller serves, and the same in an Envelope.
func (a *apis) onController() *api.Table {
	return api.NewTable(api.OnController, a.aboutController(), slices.Concat(a.control, a.access.Guard([]api.Route{api.EnvelopeRoute(a.active)})))
}

// onBroker is the table of the broker's listeners.
func (a *apis) onBroker(b *brokerRole) *api.Table {
	return api.NewTable(api.OnBroker, a.aboutBroker(b), slices.Concat(
		api.ForwardRoutes(b.channel, a.judge(), a.control),
		a.shared(b.topicMaker()),
		api.DataRoutes(b.dataDeps()),
		api.GroupRoutes(api.GroupDeps{View: a.metadata.view, Groups: b.groups}),
	))
}

// accessOf is what the file says of an authorizer, nil where it names none. Only nodes
// that are nothing but controllers may name one.
func accessOf(e *env, m *metadata) *api.Access {
	if e.cfg.String("authorizer.class.name") == "" {
		return nil
	}
	return &api.Access{View: m.view, Rules: auth.Rules{
		SuperUsers:       auth.ParseSuperUsers(e.cfg.String("super.users")),
		OpenWithoutRules: e.cfg.Bool("allow.everyone.if.no.acl.found"),
	}}
}

func (a *apis) about() api.About {
	return api.About{
		ClusterID: a.clusterID, Node: a.self.ID, View: a.metadata.view, Supported: image.Served(),
		KRaftVersion: a.metadata.kraftVersion,
	}
}

// aboutController differs from what a broker tells in the epoch of the features.
func (a *apis) aboutController() api.About {
	about := a.about()
	about.FeaturesEpoch = a.features.epoch.Load
	return about
}

// aboutBroker tells only of versions that the active controller serves too.
func (a *apis) aboutBroker(b *brokerRole) api.About {
	about := a.about()
	about.Controller = b.channel.Serves
	return about
}
