package node

import (
	"context"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/fetcher"
	"github.com/ottla/ottla/internal/drive/brokernode/isr"
	"github.com/ottla/ottla/internal/drive/brokernode/lifecycle"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/coordnode"
	"github.com/ottla/ottla/internal/drive/coordnode/offsetslog"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/transport"
)

// brokerPart is what a node with the broker role has beside the quorum.
type brokerPart struct {
	timers  *await.Timers
	parts   *partitions.Manager
	fetcher *fetcher.Fetcher
	isr     *isr.Proposer
	groups  *coordnode.Groups
	creator *creator
	// producers hands out ids of idempotent producers.
	producers *api.ProducerIDs
}

// startBroker makes the broker's parts, lets them follow the metadata, and
// waits until the controller has unfenced the broker.
func (n *node) startBroker(ctx context.Context) error {
	b := &brokerPart{timers: await.NewTimers()}
	b.creator = newCreator(n.channel, func() { b.groups.MakeTopic() }, n.log.With("part", "topics"))
	n.life = lifecycle.New(n.lifecycleConfig())
	b.producers = api.NewProducerIDs(n.channel, n.cfg.Node().ID, n.life.Epoch)
	b.isr = isr.New(n.isrConfig(b))
	b.parts = partitions.NewManager(partitions.Config{
		Self:      n.cfg.Node().ID,
		Broker:    n.cfg,
		Dirs:      replicaDirs{n.dirs},
		Assign:    n.life,
		ISR:       b.isr,
		Elections: map[string]partitions.Elections{kafka.ConsumerOffsetsTopic: elections{b}},
		Timers:    b.timers,
		Log:       n.log.With("part", "replicas"),
	})
	b.fetcher = fetcher.New(n.fetcherConfig(b))
	b.groups = coordnode.New(n.groupConfig(b))
	n.broker = b
	n.offline.take(func(dir kafka.DirID) {
		b.parts.DirFailed(dir)
		n.life.DirFailed(dir)
	})
	n.watched.show(b.parts.Register, b.fetcher.Register, b.groups.Register, registerAssignments(n.life))
	n.onStop(n.stopBroker)

	n.runLifecycle()
	n.runTicks(b)
	n.runDirs(b)
	n.runReplication(b)
	n.follow()
	return n.wait(ctx, n.life.Unfenced())
}

// elections tells the coordinators what this broker leads. They are made after
// the replicas, whose log they use.
type elections struct{ b *brokerPart }

func (e elections) Elected(tp kafka.TopicPartition, epoch kafka.Epoch) { e.b.groups.Elected(tp, epoch) }

func (e elections) Resigned(tp kafka.TopicPartition, epoch kafka.Epoch, deleted bool) {
	e.b.groups.Resigned(tp, epoch, deleted)
}

// publishToBroker hands a new image to the replicas and the coordinators. After
// the first one all replicas are in place.
func (n *node) publishToBroker(delta image.Delta, img *image.Image) {
	b := n.broker
	if b == nil || n.unfit {
		return
	}
	b.parts.Publish(delta, img)
	b.fetcher.Publish(delta, img)
	if len(delta.Deleted) > 0 {
		gone := make([]group.Topic, len(delta.Deleted))
		for i, t := range delta.Deleted {
			gone[i] = group.Topic{Name: t.Name, ID: t.ID}
		}
		b.groups.TopicsDeleted(gone)
	}
	n.life.Ready()
}

func (n *node) lifecycleConfig() lifecycle.Config {
	self := n.cfg.Node()
	lc := lifecycle.Config{
		Node:                self.ID,
		ClusterID:           n.clusterID,
		Incarnation:         randomUUID(),
		Dirs:                n.dirs.OnlineIDs(),
		PreviousEpoch:       n.previousEpoch,
		HeartbeatInterval:   n.cfg.Duration("broker.heartbeat.interval.ms"),
		RegistrationTimeout: n.cfg.Duration("initial.broker.registration.timeout.ms"),
		DirFailureTimeout:   n.cfg.Duration("log.dir.failure.timeout.ms"),
		Controller:          n.channel,
		Log:                 n.log.With("part", "broker"),
	}
	if self.Rack != "" {
		lc.Rack = &self.Rack
	}
	for _, l := range self.Advertised {
		lc.Listeners = append(lc.Listeners, lifecycle.Endpoint{
			Name: l.Name, Host: advertisedHost(l), Port: uint16(n.boundPort(l)), Protocol: protocolNumber(l.Protocol),
		})
	}
	for _, f := range registered() {
		lc.Features = append(lc.Features, lifecycle.Feature{Name: f.Name, Min: f.Min, Max: f.Max})
	}
	return lc
}

func protocolNumber(name string) int16 {
	switch name {
	case "SSL":
		return 1
	case "SASL_PLAINTEXT":
		return 2
	case "SASL_SSL":
		return 3
	}
	return 0
}

func (n *node) groupConfig(b *brokerPart) coordnode.Config {
	return coordnode.Config{
		Log:    offsetslog.Over(b.parts),
		Group:  groupSettings(n.cfg),
		Codec:  batch.Codec(n.cfg.Int("offsets.topic.compression.codec")),
		Logger: n.log.With("part", "groups"),
		Partitions: func() int32 {
			if t, ok := b.parts.Image().TopicNamed(kafka.ConsumerOffsetsTopic); ok {
				return int32(t.Partitions.Len())
			}
			return 0
		},
		TopicID: func(name string) (kafka.TopicID, bool) {
			if t, ok := b.parts.Image().TopicNamed(name); ok {
				return t.ID, true
			}
			return kafka.TopicID{}, false
		},
		Controller: n.channel,
		Topic: coordnode.Topic{
			Partitions:        int32(n.cfg.Int("offsets.topic.num.partitions")),
			ReplicationFactor: int16(n.cfg.Int("offsets.topic.replication.factor")),
			SegmentBytes:      int(n.cfg.Int("offsets.topic.segment.bytes")),
		},
	}
}

func (n *node) dataDeps(b *brokerPart) api.DataDeps {
	return api.DataDeps{
		Partitions: b.parts, Timers: b.timers, Dirs: replicaDirs{n.dirs}, ProducerIDs: b.producers,
		FetchMaxBytes: int(n.cfg.Int("fetch.max.bytes")),
		SessionSlots:  int(n.cfg.Int("max.incremental.fetch.session.cache.slots")),
		Metrics:       n.watched.api,
	}
}

// runDirs does the periodic work on the logs.
func (n *node) runDirs(b *brokerPart) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.dirs.Run(ctx, b.parts)
	}()
	n.onStop(func() {
		cancel()
		<-done
	})
}

// runLifecycle registers the broker and keeps it registered. Its end is the end
// of the node, unless the node is leaving.
func (n *node) runLifecycle() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := n.life.Run(ctx); err != nil && ctx.Err() == nil {
			n.awaitFeatures(ctx, err)
			n.fail(err)
		}
	}()
	n.onStop(func() {
		cancel()
		<-done
	})
}

// serveBroker lets clients in.
func (n *node) serveBroker(context.Context) error {
	b, self := n.broker, n.cfg.Node()
	var maker api.TopicMaker
	if n.cfg.Bool("auto.create.topics.enable") {
		maker = b.creator
	}
	routes := api.ForwardRoutes(n.channel, self.ID, n.routes)
	routes = append(routes, api.ClusterRoutes(n.clusterDeps(maker))...)
	routes = append(routes, api.ConfigRoutes(n.view, self.ID, n.cfg)...)
	routes = append(routes, api.DataRoutes(n.dataDeps(b))...)
	routes = append(routes, api.GroupRoutes(api.GroupDeps{View: n.view, Groups: b.groups})...)
	table := api.NewTable(api.OnBroker, n.about(), routes)
	server := n.newServer(n.files.clients)
	for _, l := range self.Listeners {
		if !self.IsControllerListener(l.Name) {
			server.Serve(n.bound[l.Name], transport.ListenerConfig{Name: l.Name, Routes: table}).Start()
		}
	}
	n.watched.show(registerMemory(server))
	n.onStop(func() { closeServer(server, n.log) })
	return nil
}

// leave asks the controller to move leadership away before the broker stops.
func (n *node) leave() {
	n.orderly = true
	n.watched.at(leaving)
	if n.life == nil || !n.cfg.Bool("controlled.shutdown.enable") {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := n.life.Leave(ctx); err != nil {
		n.log.Warn("leaving without the controller's consent", "err", err)
		return
	}
	n.cleanEpoch = n.life.Epoch()
}

// stopBroker ends the parts after the listeners and the lifecycle have ended.
func (n *node) stopBroker() {
	b := n.broker
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := b.groups.Close(ctx); err != nil {
		n.log.Warn("group coordinator did not stop in time", "err", err)
	}
	b.creator.close()
	b.producers.Close()
	b.timers.Close()
	b.parts.Close()
}
