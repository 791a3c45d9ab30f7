package node

import (
	"context"
	"errors"
	"time"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/dirmove"
	"github.com/ottla/ottla/internal/drive/brokernode/fetcher"
	"github.com/ottla/ottla/internal/drive/brokernode/isr"
	"github.com/ottla/ottla/internal/drive/brokernode/lifecycle"
	"github.com/ottla/ottla/internal/drive/brokernode/mender"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/drive/brokernode/throttle"
	"github.com/ottla/ottla/internal/drive/brokernode/toctrl"
	"github.com/ottla/ottla/internal/drive/brokernode/txnverify"
	"github.com/ottla/ottla/internal/drive/coordnode"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/storage/dirs"
	"github.com/ottla/ottla/internal/edge/transport"
)

// brokerRole is what a node with the broker role has beside the quorum.
type brokerRole struct {
	*env
	dirs    *dirs.Dirs
	channel *toctrl.Channel // to the active controller
	life    *lifecycle.Lifecycle
	timers  *await.Timers
	parts   *partitions.Manager
	fetcher *fetcher.Fetcher
	mover   *dirmove.Mover   // of replicas between directories
	quotas  *throttle.Quotas // of replication
	isr     *isr.Proposer
	groups  *coordnode.Groups
	creator *creator
	// producers hands out ids of idempotent producers.
	producers *api.ProducerIDs
	// verifier asks the coordinators of transactional ones, through peers.
	verifier *txnverify.Verifier
	peers    *transport.Pool
	// joined: metadata holds the registration of this process. Only publish uses it.
	joined bool
	stops  stops
}

// newBrokerRole makes the broker's parts over the logs in its folders. Others
// reach it at the advertised endpoints.
func newBrokerRole(e *env, f *folders, advertised []image.Endpoint, channel *toctrl.Channel) *brokerRole {
	b := &brokerRole{env: e, dirs: f.logs, channel: channel, timers: await.NewTimers()}
	b.creator = newCreator(channel, func() { b.groups.MakeTopic() }, e.part("topics"))
	b.life = lifecycle.New(b.lifecycleConfig(f, advertised))
	b.producers = api.NewProducerIDs(channel, e.self.ID, b.life.Epoch)
	b.isr = isr.New(b.isrConfig())
	b.quotas = throttle.New(e.self.ID, int(e.cfg.Int("replication.quota.window.num")), e.cfg.Duration("replication.quota.window.size.seconds"))
	e.live.follow(func(now *config.Config) { b.quotas.Bound(ratesOf(now)) })
	b.mover = dirmove.New(dirmove.Config{Movers: moversOf(e.cfg), Log: e.part("replicas")})
	e.live.follow(func(now *config.Config) {
		b.mover.SetRate(moveRateOf(now))
	})
	b.parts = partitions.NewManager(partitions.Config{
		Self:      e.self.ID,
		Broker:    e.cfg,
		Dirs:      replicaDirs{f.logs},
		Assign:    b.life,
		ISR:       b.isr,
		Elections: map[string]partitions.Elections{kafka.ConsumerOffsetsTopic: elections{b}},
		Verify:    e.live.verifiesTransactions,
		Timers:    b.timers,
		Log:       e.part("replicas"),
		Moves:     &partitions.Moves{Dirs: f.logs, Begin: b.mover.Begin, Pending: b.life.AssignmentPending},
	})
	e.live.follow(func(now *config.Config) {
		f.logs.Cordon(cordonedIn(now))
		b.life.CordonChanged()
	})
	b.peers = transport.NewPool(e.asClient())
	b.verifier = txnverify.New(b.verifierConfig())
	b.fetcher = fetcher.New(b.fetcherConfig())
	e.live.follow(func(now *config.Config) { b.fetcher.SetSources(sourcesOf(now)) })
	b.groups = coordnode.New(b.groupsConfig())
	f.owner = b.parts
	f.offline.take(func(failed dirFailure) {
		b.parts.DirFailed(failed.id)
		b.life.DirFailed(failed.id)
		if errors.Is(failed.err, dirs.ErrHung) {
			b.fetcher.Renew()
		}
	})
	e.watched.show(b.parts.Register, b.fetcher.Register, b.quotas.Register, b.groups.Register, b.verifier.Register, registerAssignments(b.life, b.dirs))
	b.stops.add(b.closeParts)
	return b
}

// run registers the broker and does what goes on beside the requests. Until the
// metadata follows nothing comes of it.
func (b *brokerRole) run(features *featureGate) {
	b.stops.background(func(ctx context.Context) { b.stayRegistered(ctx, features) })
	b.stops.background(b.tick)
	b.stops.background(func(ctx context.Context) { b.dirs.Run(ctx, b.parts) })
	b.stops.background(newDisks(b).run)
	b.stops.background(func(ctx context.Context) { b.dirs.Scrub(ctx, mender.New(b.menderConfig())) })
	b.replicate()
}

// stayRegistered registers the broker and keeps it registered. Its end is the
// end of the node, unless the node is leaving.
func (b *brokerRole) stayRegistered(ctx context.Context, features *featureGate) {
	if err := b.life.Run(ctx); err != nil && ctx.Err() == nil {
		features.await(ctx, err)
		b.failure.fail(err)
	}
}

// tick looks after replicas that have fallen behind.
func (b *brokerRole) tick(ctx context.Context) {
	tick := time.NewTicker(b.parts.TickEvery())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.parts.Tick()
		}
	}
}

// publish hands a new image to the replicas and the coordinators. After the
// first one all replicas are in place.
//
// Metadata from before our registration speaks of the process that was here last:
// where it led we would lead on, in its epoch, perhaps with a log that has lost its
// end, and followers would cut theirs after it. With the registration all that is
// taken from us.
func (b *brokerRole) publish(delta image.Delta, img *image.Image) {
	if err := severalDirs(img.Level(), len(b.self.LogDirs)); err != nil {
		b.failure.fail(err)
		return
	}
	if !b.joined {
		if r, ok := img.Broker(b.self.ID); !ok || r.Incarnation != b.life.Incarnation() {
			return
		}
		b.joined, delta = true, image.Between(image.Empty(), img)
	}
	b.quotas.Publish(delta, img)
	b.parts.Publish(delta, img)
	b.fetcher.Publish(delta, img)
	if len(delta.Deleted) > 0 {
		gone := make([]group.Topic, len(delta.Deleted))
		for i, t := range delta.Deleted {
			gone[i] = group.Topic{Name: t.Name, ID: t.ID}
		}
		b.groups.TopicsDeleted(gone)
	}
	b.life.Ready()
	if registersLess(img, b.self.ID, b.life.Epoch(), b.dirs.OnlineIDs()) {
		b.life.Amend()
	}
}

// serve lets clients in, on so many connections; 0 is no bound.
func (b *brokerRole) serve(l *listeners, table *api.Table, connections int) {
	server := newServer(b.env, connections)
	l.serve(server, false, transport.ListenerConfig{Routes: table})
	b.watched.show(registerMemory(server))
	b.stops.add(func() { closeServer(server, b.log) })
	b.stops.add(b.verifier.Close) // before the server, which waits for the requests it serves
}

// topicMaker creates topics that clients ask for, where the settings allow it.
func (b *brokerRole) topicMaker() api.TopicMaker {
	if !b.cfg.Bool("auto.create.topics.enable") {
		return nil
	}
	return b.creator
}

func (b *brokerRole) dataDeps() api.DataDeps {
	return api.DataDeps{
		Partitions: b.parts, Timers: b.timers, Dirs: replicaDirs{b.dirs}, ProducerIDs: b.producers,
		FetchMaxBytes: int(b.cfg.Int("fetch.max.bytes")),
		SessionSlots:  int(b.cfg.Int("max.incremental.fetch.session.cache.slots")),
		Quota:         b.quotas.Leader(),
		Verifier:      b.verifier, Groups: b.groups, MarkerLimit: b.cfg.Duration("request.timeout.ms"),
		Metrics: b.watched.api,
	}
}

// leave asks the controller to move leadership away before the broker stops. It
// gives the epoch that the controller let go, or NoBrokerEpoch.
func (b *brokerRole) leave() kafka.BrokerEpoch {
	if !b.cfg.Bool("controlled.shutdown.enable") {
		return kafka.NoBrokerEpoch
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := b.life.Leave(ctx); err != nil {
		b.log.Warn("leaving without the controller's consent", "err", err)
		return kafka.NoBrokerEpoch
	}
	return b.life.Epoch()
}

// close ends what serve and run have begun, and then the parts.
func (b *brokerRole) close() { b.stops.run() }

// closeParts ends the parts after the listeners and the lifecycle have ended.
func (b *brokerRole) closeParts() {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := b.groups.Close(ctx); err != nil {
		b.log.Warn("group coordinator did not stop in time", "err", err)
	}
	b.verifier.Close()
	b.peers.Close()
	b.creator.close()
	b.producers.Close()
	b.timers.Close()
	within(stopGrace, b.log, "syncs", b.parts.Close)
}
