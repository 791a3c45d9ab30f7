package node

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
)

// liveSettings follow what the metadata log says about this node's settings: they
// bound the connections of its servers, say whether transactions are verified, and
// warn of stored values that change nothing. What concerns logs is followed by the replicas themselves.
type liveSettings struct {
	self   kafka.NodeID
	static *config.Config
	log    *slog.Logger

	// unverified: transaction.partition.verification.enable is false. It is asked
	// with every produce.
	unverified atomic.Bool

	mu        sync.Mutex
	now       *config.Config // the layers together
	followers []func(now *config.Config)
	told      map[string]bool // the warnings that hold, by their text
}

func newLiveSettings(static *config.Config, log *slog.Logger) *liveSettings {
	s := &liveSettings{self: static.Node().ID, static: static, log: log}
	s.take(static)
	return s
}

// take has the settings count from now on. mu is held, once there is somebody who
// could look.
func (s *liveSettings) take(now *config.Config) {
	s.now = now
	s.unverified.Store(!verifies(now))
	for _, f := range s.followers {
		f(now)
	}
}

// follow calls f with the settings, now and after each change. It must not block: one
// call is made at a time.
func (s *liveSettings) follow(f func(now *config.Config)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followers = append(s.followers, f)
	f(s.now)
}

// verifies is what settings say about the verification of transactions.
func verifies(cfg *config.Config) bool { return cfg.Bool("transaction.partition.verification.enable") }

// verifiesTransactions tells whether leaders here ask for the coordinator's word
// before a transaction begins in a partition.
func (s *liveSettings) verifiesTransactions() bool { return !s.unverified.Load() }

// govern bounds a server, now and after each change; files are the connections that
// there may be where the settings do not say, 0 is no bound.
func (s *liveSettings) govern(server *transport.Server, files int) {
	s.follow(func(now *config.Config) { server.SetBounds(boundsOf(now, files)) })
}

// publish obeys what has changed.
func (s *liveSettings) publish(delta image.Delta, img *image.Image) {
	if !slices.Contains(delta.Configs, image.AllBrokers) && !slices.Contains(delta.Configs, image.BrokerOf(s.self)) {
		return
	}
	layers := api.LayersOf(img, s.self, s.static)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(layers.Effective())
	s.warn(layers.Idle())
}

// warn tells what was not told since it began to hold.
func (s *liveSettings) warn(all []config.Warning) {
	before := s.told
	s.told = make(map[string]bool, len(all))
	for _, w := range all {
		s.told[w.Text] = true
		if !before[w.Text] {
			s.log.Warn("a stored setting changes nothing", "key", w.Key, "why", w.Text)
		}
	}
}

// boundsOf are the bounds that settings ask for, with files connections where
// they do not say how many.
func boundsOf(cfg *config.Config, files int) transport.Bounds {
	b := transport.Bounds{
		Connections: files,
		PerIP:       int(cfg.Int("max.connections.per.ip")), Addresses: cfg.AddressBounds(), Listeners: map[string]int{},
		Rates: map[string]int{}, Unrated: unrated(cfg.Node()),
	}
	if cfg.Has("max.connection.creation.rate") {
		b.Rate = int(cfg.Int("max.connection.creation.rate"))
	}
	if cfg.Has("max.connections") {
		b.Connections = int(cfg.Int("max.connections"))
	}
	for _, l := range cfg.Node().Listeners {
		if n, set := cfg.MaxConnections(l.Name); set {
			b.Listeners[l.Name] = n
		}
		if n, set := cfg.ConnectionRate(l.Name); set {
			b.Rates[l.Name] = n
		}
	}
	return b
}

// unrated is the listener that the rate of all does not hold up: that of brokers, where
// clients have another one.
func unrated(n *config.Node) string {
	clients := 0
	for _, l := range n.Listeners {
		if !n.IsControllerListener(l.Name) {
			clients++
		}
	}
	if clients < 2 {
		return ""
	}
	return n.InterBroker
}
