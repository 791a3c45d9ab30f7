package node

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/controller"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/toctrl"
	"github.com/ottla/ottla/internal/drive/ctrlnode"
	"github.com/ottla/ottla/internal/edge/transport"
)

// controllerRole is what a node with the controller role has beside the quorum.
type controllerRole struct {
	*env
	node      *ctrlnode.Node
	registrar *ctrlnode.Registrar
	handOver  func() // leadership, to another controller
	stops     stops
}

func newControllerRole(e *env, clusterID string, m *metadata) *controllerRole {
	return &controllerRole{env: e, handOver: m.handOver, node: ctrlnode.New(ctrlnode.Config{
		Self:            e.self.ID,
		Settings:        controllerSettings(e, clusterID, m),
		Quorum:          m.quorum,
		Bootstrap:       m.bootstrap,
		IdleInterval:    e.cfg.Duration("metadata.max.idle.interval.ms"),
		Seed:            randomSeed(),
		BalanceInterval: balanceInterval(e),
		UncleanInterval: e.cfg.Duration("unclean.leader.election.interval.ms"),
		TokenCheck:      tokenCheck(e),
		FastFencing:     e.cfg.Bool("ottla.fast.fencing.enable"),
		Fault:           e.failure.fail,
		Log:             e.part("controller"),
	})}
}

func controllerSettings(e *env, clusterID string, m *metadata) *controller.Settings {
	cfg := e.cfg
	return &controller.Settings{
		Node:               e.self.ID,
		ClusterID:          clusterID,
		SessionTimeout:     cfg.Duration("broker.session.timeout.ms"),
		AssignmentWait:     cfg.Duration("ottla.directory.assignment.wait.ms"),
		DefaultPartitions:  int32(cfg.Int("num.partitions")),
		DefaultReplication: int16(cfg.Int("default.replication.factor")),
		MinInsyncReplicas:  int(cfg.Int("min.insync.replicas")),
		UncleanElection:    cfg.Bool("unclean.leader.election.enable"),
		DeleteTopics:       cfg.Bool("delete.topic.enable"),
		MutationWindow:     time.Duration(cfg.Int("controller.quota.window.num")*cfg.Int("controller.quota.window.size.seconds")) * time.Second,
		Tokens: controller.TokenSettings{
			Secret:      cfg.String("delegation.token.secret.key"),
			MaxLifetime: cfg.Duration("delegation.token.max.lifetime.ms"),
			ExpiryTime:  cfg.Duration("delegation.token.expiry.time.ms"),
		},
		Supported:    image.Served(),
		KRaftVersion: m.kraftVersion,
		Voters:       m.voters,
		Keys:         api.NewConfigKeys(cfg),
	}
}

// tokenCheck is how often delegation tokens are looked through; 0: there are none.
func tokenCheck(e *env) time.Duration {
	if e.cfg.String("delegation.token.secret.key") == "" {
		return 0
	}
	return e.cfg.Duration("delegation.token.expiry.check.interval.ms")
}

// balanceInterval is how often leaders are brought home; 0: never.
func balanceInterval(e *env) time.Duration {
	if !e.cfg.Bool("auto.leader.rebalance.enable") {
		return 0
	}
	return time.Duration(e.cfg.Int("leader.imbalance.check.interval.seconds")) * time.Second
}

// register keeps this controller registered with the active one.
func (c *controllerRole) register(advertised []image.Endpoint, channel *toctrl.Channel) {
	c.registrar = ctrlnode.NewRegistrar(ctrlnode.Registration{
		Node: c.self.ID, Incarnation: randomUUID(), Listeners: advertised, Features: registered(),
	}, channel.Do, c.part("controller"))
	c.stops.background(c.registrar.Run)
}

// controllerOutstanding is how many requests of one connection the controller has
// under way: a broker brings those of all its clients over one, see
// docs/design/forwarding.md.
const controllerOutstanding = 1024

// serve lets brokers and the quorum in, on so many connections; 0 is no bound.
func (c *controllerRole) serve(l *listeners, table *api.Table, connections int) {
	server := newServer(c.env, connections)
	l.serve(server, true, transport.ListenerConfig{Outstanding: controllerOutstanding, Routes: table})
	if !c.self.Broker {
		c.watched.show(registerMemory(server))
	}
	c.stops.add(func() {
		closeServer(server, c.log)
		c.node.Stop()
	})
}

// close hands over before it closes the listeners: the next leader needs the vote
// of this one, and what was asked of it before is answered meanwhile.
func (c *controllerRole) close() {
	c.handOver()
	c.stops.run()
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
