package node

import (
	"log/slog"
	"slices"
	"sync"

	"github.com/ottla/ottla/internal/api"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/edge/transport"
)

// liveSettings follow what the metadata log says about this node's settings: they
// bound the connections of its servers, and warn of stored values that change
// nothing. What concerns logs is followed by the replicas themselves.
type liveSettings struct {
	self   kafka.NodeID
	static *config.Config
	log    *slog.Logger

	mu       sync.Mutex
	now      *config.Config // the layers together
	governed []governed
	told     map[string]bool // the warnings that hold, by their text
}

// governed is a server whose bounds follow the settings.
type governed struct {
	server *transport.Server
	files  int // connections that there may be where the settings do not say; 0 is no bound
}

func newLiveSettings(static *config.Config, log *slog.Logger) *liveSettings {
	return &liveSettings{self: static.Node().ID, static: static, log: log, now: static}
}

// govern bounds a server, now and after each change.
func (s *liveSettings) govern(server *transport.Server, files int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.governed = append(s.governed, governed{server, files})
	server.SetBounds(boundsOf(s.now, files))
}

// publish obeys what has changed.
func (s *liveSettings) publish(delta image.Delta, img *image.Image) {
	if !slices.Contains(delta.Configs, image.AllBrokers) && !slices.Contains(delta.Configs, image.BrokerOf(s.self)) {
		return
	}
	layers := api.LayersOf(img, s.self, s.static)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = layers.Effective()
	for _, g := range s.governed {
		g.server.SetBounds(boundsOf(s.now, g.files))
	}
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
	b := transport.Bounds{Connections: files, PerIP: int(cfg.Int("max.connections.per.ip")), Listeners: map[string]int{}}
	if cfg.Has("max.connections") {
		b.Connections = int(cfg.Int("max.connections"))
	}
	for _, l := range cfg.Node().Listeners {
		if n, set := cfg.MaxConnections(l.Name); set {
			b.Listeners[l.Name] = n
		}
	}
	return b
}
