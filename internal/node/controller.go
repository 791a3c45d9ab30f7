package node

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/ottla/ottla/internal/drive/metaview"
	"github.com/ottla/ottla/internal/drive/raftnode"
	"github.com/ottla/ottla/internal/edge/transport"
)

// startQuorum joins the quorum and makes the controller where the node has that
// role. The view begins to follow when the broker's part is there, see follow.
func (n *node) startQuorum(ctx context.Context) error {
	rc := n.quorumConfig()
	bootstrap, err := n.bootstrap(rc)
	if err != nil {
		return err
	}
	q, err := raftnode.Start(context.WithoutCancel(ctx), rc)
	if err != nil {
		return err
	}
	n.quorum = quorum{q, n.cfg.Node().ID}
	n.onStop(n.leaveQuorum)
	if n.cfg.Node().Controller {
		n.controller = ctrlnode.New(ctrlnode.Config{
			Self:            n.cfg.Node().ID,
			Settings:        n.controllerSettings(),
			Quorum:          n.quorum,
			Bootstrap:       bootstrap,
			IdleInterval:    n.cfg.Duration("metadata.max.idle.interval.ms"),
			Seed:            randomSeed(),
			BalanceInterval: n.balanceInterval(),
			UncleanInterval: n.cfg.Duration("unclean.leader.election.interval.ms"),
			Fault:           n.fail,
			Log:             n.log.With("part", "controller"),
		})
	}
	n.view = n.newView([]metaview.Publisher{
		{Name: "features", Publish: n.checkFeatures},
		{Name: "metrics", Publish: n.watched.changes.publish},
		{Name: "broker", Publish: n.publishToBroker},
		{Name: "registration", Publish: n.publishToRegistrar},
	})
	n.routes = n.controllerRoutes()
	n.channel = n.newChannel()
	n.onStop(n.channel.Close)
	n.watched.show(n.quorum.Register, n.registerMetadata, n.channel.Register)
	if n.controller != nil {
		n.watched.show(n.registerController)
		n.startRegistrar()
	}
	return nil
}

// follow lets the view follow the quorum.
func (n *node) follow() {
	n.quorum.Subscribe(listener{n.view})
}

// bootstrap are the records of a new cluster, from the folder or by default.
func (n *node) bootstrap(rc raftnode.Config) ([]controller.Versioned, error) {
	if !rc.Controller {
		return nil, nil
	}
	framed, err := raftnode.ReadBootstrap(rc.FS, rc.Dir)
	if err != nil {
		return nil, err
	}
	if len(framed) == 0 {
		return controller.Bootstrap(image.LatestLevel), nil
	}
	records := make([]controller.Versioned, len(framed))
	for i, raw := range framed {
		m, version, err := metarec.ReadMetadata(raw)
		if err != nil {
			return nil, fmt.Errorf("bootstrap record %d in %s: %w", i, rc.Dir, err)
		}
		records[i] = controller.Versioned{Message: m, Version: version}
	}
	return records, nil
}

// balanceInterval is how often leaders are brought home; 0: never.
func (n *node) balanceInterval() time.Duration {
	if !n.cfg.Bool("auto.leader.rebalance.enable") {
		return 0
	}
	return time.Duration(n.cfg.Int("leader.imbalance.check.interval.seconds")) * time.Second
}

func (n *node) controllerSettings() *controller.Settings {
	cfg := n.cfg
	return &controller.Settings{
		Node:               cfg.Node().ID,
		ClusterID:          n.clusterID,
		SessionTimeout:     cfg.Duration("broker.session.timeout.ms"),
		AssignmentWait:     cfg.Duration("ottla.directory.assignment.wait.ms"),
		DefaultPartitions:  int32(cfg.Int("num.partitions")),
		DefaultReplication: int16(cfg.Int("default.replication.factor")),
		MinInsyncReplicas:  int(cfg.Int("min.insync.replicas")),
		UncleanElection:    cfg.Bool("unclean.leader.election.enable"),
		DeleteTopics:       cfg.Bool("delete.topic.enable"),
		Supported:          served(),
		KRaftVersion:       func() int16 { return n.quorum.View().Level },
		Voters: func() []kafka.NodeID {
			var ids []kafka.NodeID
			for _, v := range n.quorum.View().Voters {
				ids = append(ids, v.Key.Node)
			}
			return ids
		},
		Keys: api.ConfigKeys{Static: cfg},
	}
}

// controllerOutstanding is how many requests of one connection the controller has
// under way: a broker brings those of all its clients over one, see
// docs/design/forwarding.md.
const controllerOutstanding = 1024

// serveController opens the controller's listeners, joins the view to the
// quorum and registers the controller once there is a leader to register with.
func (n *node) serveController(context.Context) error {
	inner := api.NewTable(api.OnController, n.about(), n.routes)
	table := api.NewTable(api.OnController, n.about(), append(n.routes[:len(n.routes):len(n.routes)], api.EnvelopeRoute(inner)))
	server := n.newServer(n.files.peers)
	for _, l := range n.cfg.Node().Listeners {
		if n.cfg.Node().IsControllerListener(l.Name) {
			server.Serve(n.bound[l.Name], transport.ListenerConfig{Name: l.Name, Outstanding: controllerOutstanding, Routes: table}).Start()
		}
	}
	if !n.cfg.Node().Broker {
		n.watched.show(registerMemory(server))
	}
	n.onStop(func() {
		closeServer(server, n.log)
		n.controller.Stop()
	})
	if !n.cfg.Node().Broker {
		n.follow()
	}
	return nil
}

// controllerRoutes are what the controller serves. On a node without that role
// they only say what can be forwarded.
func (n *node) controllerRoutes() []api.Route {
	routes := api.ControlRoutes(api.ControlDeps{
		Controller: n.controller, View: n.view, Self: n.cfg.Node().ID, Static: n.cfg, Log: n.log,
	})
	routes = append(routes, api.QuorumRoutes(n.quorum)...)
	routes = append(routes, api.ClusterRoutes(n.clusterDeps(nil))...)
	return append(routes, api.ConfigRoutes(n.view, n.cfg.Node().ID, n.cfg)...)
}

func (n *node) about() api.About {
	return api.About{
		ClusterID: n.clusterID, Node: n.cfg.Node().ID, View: n.view, Supported: served(),
		KRaftVersion: func() int16 { return n.quorum.View().Level },
	}
}

func (n *node) clusterDeps(topics api.TopicMaker) api.ClusterDeps {
	return api.ClusterDeps{
		ClusterID: n.clusterID, Node: n.cfg.Node().ID, View: n.view, Topics: topics,
		PartitionLimit: int(n.cfg.Int("max.request.partition.size.limit")),
		QuorumLeader:   func() kafka.NodeID { return n.quorum.View().Leader },
	}
}

func randomSeed() uint64 {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // never: rand.Read does not fail
	}
	return binary.LittleEndian.Uint64(b[:])
}

// randomUUID draws an id that names a process.
func randomUUID() (id kafka.UUID) {
	if _, err := rand.Read(id[:]); err != nil {
		panic(err) // never: rand.Read does not fail
	}
	return id
}
