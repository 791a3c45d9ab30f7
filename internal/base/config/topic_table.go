package config

// topicKeys is every key a topic can override, sorted by name, in the columns
// of brokerKeys.
var topicKeys = []Key{
	{"cleanup.policy", List, "delete", "compact delete", Medium, Cluster, 0, Used, "What happens to old segments: delete, compact, both, or nothing when empty"},
	{"compression.gzip.level", Int, "-1", "1..9|-1", Medium, Cluster, 0, Used, "Level when batches are compressed with gzip"},
	{"compression.lz4.level", Int, "9", "1..17", Medium, Cluster, 0, Used, "Level when batches are compressed with lz4"},
	{"compression.type", Str, "producer", "uncompressed zstd lz4 snappy gzip producer", Medium, Cluster, 0, Used, "Codec that stored batches end up with; producer keeps what was sent"},
	{"compression.zstd.level", Int, "3", "-131072..22", Medium, Cluster, 0, Used, "Level when batches are compressed with zstd"},
	{"delete.retention.ms", Long, "86400000", "0..", Medium, Cluster, 0, Used, "Time a tombstone is kept in a compacted log"},
	{"errors.deadletterqueue.group.enable", Bool, "false", "", Medium, Cluster, 0, Unused, "Whether share groups may use the topic for dead letters"},
	{"file.delete.delay.ms", Long, "60000", "0..", Medium, Cluster, 0, Used, "Time before deleted files leave the disk"},
	{"flush.messages", Long, "9223372036854775807", "1..", Medium, Cluster, 0, Used, "Records after which the log is synced to disk"},
	{"flush.ms", Long, "9223372036854775807", "0..", Medium, Cluster, 0, Used, "Age at which a record is synced to disk"},
	{"follower.replication.throttled.replicas", List, "", "p:b", Medium, Cluster, 0, Used, "Replicas, as partition:broker, that are throttled as followers; * is all"},
	{"index.interval.bytes", Int, "4096", "0..", Medium, Cluster, 0, Used, "Bytes of log between two index entries"},
	{"internal.segment.bytes", Int, Null, "", Medium, Cluster, Internal, Used, "Segment size below the public bound, for tests"},
	{"leader.replication.throttled.replicas", List, "", "p:b", Medium, Cluster, 0, Used, "Replicas, as partition:broker, that are throttled as leaders; * is all"},
	{"local.retention.bytes", Long, "-2", "-2..", Medium, Cluster, 0, Unused, "Size kept on disk with remote storage; -2 takes retention.bytes"},
	{"local.retention.ms", Long, "-2", "-2..", Medium, Cluster, 0, Unused, "Age kept on disk with remote storage; -2 takes retention.ms"},
	{"max.compaction.lag.ms", Long, "9223372036854775807", "1..", Medium, Cluster, 0, Used, "Longest time a record may stay uncompacted"},
	{"max.decompressed.message.bytes", Int, "2147483639", "1..2147483639", Medium, Cluster, 0, Used, "Largest record batch after decompression"},
	{"max.message.bytes", Int, "1048588", "0..", Medium, Cluster, 0, Used, "Largest record batch the topic takes"},
	{"message.timestamp.after.max.ms", Long, "3600000", "0..", Medium, Cluster, 0, Used, "How far ahead of the broker's clock a record's timestamp may be"},
	{"message.timestamp.before.max.ms", Long, "9223372036854775807", "0..", Medium, Cluster, 0, Used, "How far behind the broker's clock a record's timestamp may be"},
	{"message.timestamp.type", Str, "CreateTime", "CreateTime LogAppendTime", Medium, Cluster, 0, Used, "Whether records keep the producer's timestamp or get the time of the append"},
	{"min.cleanable.dirty.ratio", Double, "0.5", "0..1", Medium, Cluster, 0, Used, "Share of the log that must be uncompacted before it is cleaned"},
	{"min.compaction.lag.ms", Long, "0", "0..", Medium, Cluster, 0, Used, "Shortest time a record stays uncompacted"},
	{"min.insync.replicas", Int, "1", "1..", Medium, Cluster, 0, Used, "In-sync replicas needed to take a write with acks=all"},
	{"preallocate", Bool, "false", "", Medium, Cluster, 0, Unused, "Whether segment files get their full size when created"},
	{"remote.copy.lag.bytes", Long, "-1", "-1..", Medium, Cluster, 0, Unused, "Size that must gather before a segment is copied to remote storage"},
	{"remote.copy.lag.ms", Long, "0", "-1..", Medium, Cluster, 0, Unused, "Age of a segment before it is copied to remote storage"},
	{"remote.log.copy.disable", Bool, "false", "", Medium, Cluster, 0, Unused, "Whether copying to remote storage is stopped"},
	{"remote.log.delete.on.disable", Bool, "false", "", Medium, Cluster, 0, Unused, "Whether remote segments go when remote storage is switched off"},
	{"remote.storage.enable", Bool, "false", "", Medium, Cluster, 0, Refused, "Whether segments are kept in remote storage"},
	{"retention.bytes", Long, "-1", "", Medium, Cluster, 0, Used, "Size above which a partition's oldest segments are deleted; -1 keeps any size"},
	{"retention.ms", Long, "604800000", "-1..", Medium, Cluster, 0, Used, "Age at which segments are deleted; -1 keeps any age"},
	{"segment.bytes", Int, "1073741824", "1048576..", Medium, Cluster, 0, Used, "Size at which a segment ends"},
	{"segment.index.bytes", Int, "10485760", "4..", Medium, Cluster, 0, Used, "Size at which an index, and with it its segment, ends"},
	{"segment.jitter.ms", Long, "0", "0..", Medium, Cluster, 0, Used, "Most milliseconds by which segments end earlier"},
	{"segment.ms", Long, "604800000", "1..", Medium, Cluster, 0, Used, "Age at which a segment ends"},
	{"unclean.leader.election.enable", Bool, "false", "", Medium, Cluster, 0, Used, "Whether a replica that is not in sync may become leader, at the price of lost records"},
}

// synonym is a broker's key that gives a topic's key its default.
type synonym struct {
	name string
	unit int64 // factor from the broker's unit to the topic's
}

// synonymsOf are the broker's keys behind a topic's key: the first one that is
// set gives the topic's value.
func synonymsOf(topicKey string) []synonym {
	switch topicKey {
	case "cleanup.policy":
		return []synonym{{"log.cleanup.policy", 1}}
	case "delete.retention.ms":
		return []synonym{{"log.cleaner.delete.retention.ms", 1}}
	case "file.delete.delay.ms":
		return []synonym{{"log.segment.delete.delay.ms", 1}}
	case "flush.messages":
		return []synonym{{"log.flush.interval.messages", 1}}
	case "flush.ms":
		return []synonym{{"log.flush.interval.ms", 1}, {"log.flush.scheduler.interval.ms", 1}}
	case "index.interval.bytes":
		return []synonym{{"log.index.interval.bytes", 1}}
	case "local.retention.bytes":
		return []synonym{{"log.local.retention.bytes", 1}}
	case "local.retention.ms":
		return []synonym{{"log.local.retention.ms", 1}}
	case "max.compaction.lag.ms":
		return []synonym{{"log.cleaner.max.compaction.lag.ms", 1}}
	case "max.message.bytes":
		return []synonym{{"message.max.bytes", 1}}
	case "message.timestamp.after.max.ms":
		return []synonym{{"log.message.timestamp.after.max.ms", 1}}
	case "message.timestamp.before.max.ms":
		return []synonym{{"log.message.timestamp.before.max.ms", 1}}
	case "message.timestamp.type":
		return []synonym{{"log.message.timestamp.type", 1}}
	case "min.cleanable.dirty.ratio":
		return []synonym{{"log.cleaner.min.cleanable.ratio", 1}}
	case "min.compaction.lag.ms":
		return []synonym{{"log.cleaner.min.compaction.lag.ms", 1}}
	case "preallocate":
		return []synonym{{"log.preallocate", 1}}
	case "remote.copy.lag.bytes":
		return []synonym{{"log.remote.copy.lag.bytes", 1}}
	case "remote.copy.lag.ms":
		return []synonym{{"log.remote.copy.lag.ms", 1}}
	case "retention.bytes":
		return []synonym{{"log.retention.bytes", 1}}
	case "retention.ms":
		return []synonym{{"log.retention.ms", 1}, {"log.retention.minutes", 60_000}, {"log.retention.hours", 3_600_000}}
	case "segment.bytes":
		return []synonym{{"log.segment.bytes", 1}}
	case "segment.index.bytes":
		return []synonym{{"log.index.size.max.bytes", 1}}
	case "segment.jitter.ms":
		return []synonym{{"log.roll.jitter.ms", 1}, {"log.roll.jitter.hours", 3_600_000}}
	case "segment.ms":
		return []synonym{{"log.roll.ms", 1}, {"log.roll.hours", 3_600_000}}
	}
	if Lookup(topicKey) != nil {
		return []synonym{{topicKey, 1}} // the same name on both sides
	}
	return nil
}
