package node

import (
	"time"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/core/group"
)

// groupSettings are the coordinator's settings of the file.
func groupSettings(cfg *config.Config) group.Config {
	return group.Config{
		InitialRebalanceDelay: cfg.Duration("group.initial.rebalance.delay.ms"),
		MinSessionTimeout:     cfg.Duration("group.min.session.timeout.ms"),
		MaxSessionTimeout:     cfg.Duration("group.max.session.timeout.ms"),
		MaxSize:               int(cfg.Int("group.max.size")),
		OffsetMetadataMax:     int(cfg.Int("offset.metadata.max.bytes")),
		CommitTimeout:         cfg.Duration("offsets.commit.timeout.ms"),
		OffsetsRetention:      time.Duration(cfg.Int("offsets.retention.minutes")) * time.Minute,
		CheckInterval:         cfg.Duration("offsets.retention.check.interval.ms"),
	}
}
