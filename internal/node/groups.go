package node

import (
	"time"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/group"
	"github.com/ottla/ottla/internal/drive/coordnode"
	"github.com/ottla/ottla/internal/drive/coordnode/offsetslog"
)

// elections tells the coordinators what this broker leads. They are made after
// the replicas, whose log they use.
type elections struct{ b *brokerRole }

func (e elections) Elected(tp kafka.TopicPartition, epoch kafka.Epoch) { e.b.groups.Elected(tp, epoch) }

func (e elections) Resigned(tp kafka.TopicPartition, epoch kafka.Epoch, deleted bool) {
	e.b.groups.Resigned(tp, epoch, deleted)
}

// groupsConfig is what the group coordinators of this broker are made with.
func (b *brokerRole) groupsConfig() coordnode.Config {
	return coordnode.Config{
		Log:    offsetslog.Over(b.parts),
		Group:  groupSettings(b.cfg),
		Codec:  batch.Codec(b.cfg.Int("offsets.topic.compression.codec")),
		Logger: b.part("groups"),
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
		Controller: b.channel,
		Topic: coordnode.Topic{
			Partitions:        int32(b.cfg.Int("offsets.topic.num.partitions")),
			ReplicationFactor: int16(b.cfg.Int("offsets.topic.replication.factor")),
			SegmentBytes:      int(b.cfg.Int("offsets.topic.segment.bytes")),
		},
	}
}

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
