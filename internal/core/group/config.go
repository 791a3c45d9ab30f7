package group

import (
	"math/rand/v2"
	"time"
)

// Config holds the settings of the coordinator, named by Kafka's keys, and the
// source of member ids.
type Config struct {
	InitialRebalanceDelay time.Duration // group.initial.rebalance.delay.ms
	MinSessionTimeout     time.Duration // group.min.session.timeout.ms
	MaxSessionTimeout     time.Duration // group.max.session.timeout.ms
	MaxSize               int           // group.max.size
	OffsetMetadataMax     int           // offset.metadata.max.bytes, in UTF-16 units as Apache Kafka counts
	CommitTimeout         time.Duration // offsets.commit.timeout.ms
	OffsetsRetention      time.Duration // offsets.retention.minutes
	CheckInterval         time.Duration // offsets.retention.check.interval.ms

	// Random makes the ids of members. It must be hard to guess in production,
	// since the id is all that a member shows to prove itself.
	Random rand.Source
}

// Defaults are Kafka 4.4's defaults, without a source of chance.
func Defaults() Config {
	return Config{
		InitialRebalanceDelay: 3 * time.Second,
		MinSessionTimeout:     6 * time.Second,
		MaxSessionTimeout:     30 * time.Minute,
		MaxSize:               1<<31 - 1,
		OffsetMetadataMax:     4096,
		CommitTimeout:         5 * time.Second,
		OffsetsRetention:      7 * 24 * time.Hour,
		CheckInterval:         10 * time.Minute,
	}
}

// newMemberTimeout bounds how long a member that has never completed a join
// is kept. Its client may have given up on the request, and no heartbeat of it
// can come before it knows its id (KAFKA-7610).
const newMemberTimeout = 5 * time.Minute
