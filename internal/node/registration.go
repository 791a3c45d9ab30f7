package node

import (
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/lifecycle"
)

// registered are the features that this node names in its registrations: those
// it serves, and that placements follow from registrations (KIP-858), which is
// never finalized.
func registered() []image.VersionRange {
	return append(image.Served(), image.VersionRange{Name: image.DirsFeature, Min: 0, Max: 1})
}

// cordoned are the directories that take no new replicas, nil where this cluster has
// no records for that.
func (b *brokerRole) cordoned() []kafka.DirID {
	if b.parts.Image().Level() < image.LevelCordonedDirs {
		return nil
	}
	return b.dirs.Cordoned()
}

// cordonedIn are the paths that settings cordon.
func cordonedIn(cfg *config.Config) []string { return cfg.List("cordoned.log.dirs") }

// lifecycleConfig is what the broker says of itself when it registers.
func (b *brokerRole) lifecycleConfig(f *folders, advertised []image.Endpoint) lifecycle.Config {
	lc := lifecycle.Config{
		Node:                b.self.ID,
		ClusterID:           f.clusterID,
		Incarnation:         randomUUID(),
		Dirs:                f.logs.OnlineIDs(),
		PreviousEpoch:       f.previousEpoch,
		HeartbeatInterval:   b.cfg.Duration("broker.heartbeat.interval.ms"),
		RegistrationTimeout: b.cfg.Duration("initial.broker.registration.timeout.ms"),
		DirFailureTimeout:   b.cfg.Duration("log.dir.failure.timeout.ms"),
		Cordoned:            b.cordoned,
		Controller:          b.channel,
		Log:                 b.part("broker"),
	}
	if b.self.Rack != "" {
		lc.Rack = &b.self.Rack
	}
	for _, a := range advertised {
		lc.Listeners = append(lc.Listeners, lifecycle.Endpoint(a))
	}
	for _, r := range registered() {
		lc.Features = append(lc.Features, lifecycle.Feature(r))
	}
	return lc
}
