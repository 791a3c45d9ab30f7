package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ottla/ottla/internal/base/kerr"
)

// Rule: a topic's settings are refused where Kafka 4.4 refuses them, with its
// messages; blanks around a value do not count.
func TestCheckTopicConfig(t *testing.T) {
	f := func(name, value, want string) {
		t.Helper()
		err := CheckTopicConfig(name, value)
		got := ""
		if err != nil {
			got = *kerr.Message(err)
			if kerr.Of(err) != kerr.InvalidConfig {
				t.Errorf("%s=%s: code %v", name, value, kerr.Of(err))
			}
		}
		if got != want {
			t.Errorf("%s=%s\n got %q\nwant %q", name, value, got, want)
		}
	}
	const throttled = "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: " +
		"[partitionId]:[brokerId],[partitionId]:[brokerId],..."
	f("cleanup.policy", "compactt", "Invalid value compactt for configuration cleanup.policy: String must be one of: compact, delete")
	f("cleanup.policy", "", "")
	f("cleanup.policy", " compact , delete ", "")
	f("cleanup.policy", "compact,compact", "")
	f("cleanup.policy", "delete,", "Configuration 'cleanup.policy' values must not be empty.")
	f("compression.type", "SNAPPY", "Invalid value SNAPPY for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer")
	f("compression.type", " snappy ", "")
	f("segment.ms", "bad", "Invalid value bad for configuration segment.ms: Not a number of type LONG")
	f("segment.ms", "0", "Invalid value 0 for configuration segment.ms: Value must be at least 1")
	f("segment.ms", " 100 ", "")
	f("segment.ms", "+100", "")
	f("segment.ms", "1_000", "Invalid value 1_000 for configuration segment.ms: Not a number of type LONG")
	f("segment.ms", "0x10", "Invalid value 0x10 for configuration segment.ms: Not a number of type LONG")
	f("retention.ms", "", "Invalid value  for configuration retention.ms: Not a number of type LONG")
	f("retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1")
	f("retention.bytes", "-5", "")
	f("nope", "1", "Unknown topic config name: nope")
	f("message.format.version", "3.0", "Unknown topic config name: message.format.version")
	f("segment.bytes", "1", "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576")
	f("segment.bytes", "99999999999", "Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT")
	f("internal.segment.bytes", "100", "")
	f("min.cleanable.dirty.ratio", "2", "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1")
	f("min.cleanable.dirty.ratio", "x", "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE")
	f("min.cleanable.dirty.ratio", "0.5d", "")
	f("min.cleanable.dirty.ratio", "1e-1", "")
	f("preallocate", "yes", "Invalid value yes for configuration preallocate: Expected value to be either true or false")
	f("preallocate", " TRUE ", "")
	f("compression.gzip.level", "0", "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1")
	f("compression.gzip.level", "-1", "")
	f("compression.lz4.level", "18", "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17")
	f("leader.replication.throttled.replicas", "*", "")
	f("leader.replication.throttled.replicas", "0:1,1:2", "")
	f("leader.replication.throttled.replicas", "", "")
	f("leader.replication.throttled.replicas", "0:1,*", "Invalid value [0:1, *] for configuration leader.replication.throttled.replicas: "+throttled)
	f("message.timestamp.type", "x", "Invalid value x for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime")
	f("remote.storage.enable", "true", "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	f("remote.storage.enable", "false", "")
}

// Rule: overrides stand on top of the broker's values; a conflict between two
// keys of one topic is refused; nothing is applied then.
func TestLogConfigWith(t *testing.T) {
	got, err := DefaultLogConfig().With(map[string]string{"cleanup.policy": "compact", "segment.ms": " 5 ", "message.timestamp.type": "LogAppendTime"})
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultLogConfig()
	want.CleanupDelete, want.CleanupCompact, want.SegmentMs, want.LogAppendTime = false, true, 5, true
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, err = DefaultLogConfig().With(map[string]string{"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"})
	if err == nil || *kerr.Message(err) != "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)" {
		t.Errorf("conflict: %v", err)
	}
	if lenient := want.Overlay(map[string]string{"segment.ms": "bad", "from.the.future": "1"}); lenient.SegmentMs != 5 {
		t.Error("a value of the log that cannot be read must leave the layer below")
	}
}

// "Keys that say nothing to a log are not looked at": they are in no log's configuration.
func TestUnusedTopicKeysChangeNoLog(t *testing.T) {
	for _, k := range topicKeys {
		lc := DefaultLogConfig()
		lc.set(k.Name, "7")
		if lc != DefaultLogConfig() && (k.Use == Unused || k.Valid == replicaPairs) {
			t.Errorf("%s changes the configuration of a log although it says nothing to one", k.Name)
		}
	}
	throttled := map[string]string{"leader.replication.throttled.replicas": "1:1", "segment.ms": "5"}
	if got := DefaultLogConfig().Overlay(throttled); got.SegmentMs != 5 {
		t.Errorf("beside a list of replicas segment.ms is %d, want 5", got.SegmentMs)
	}
}

// Rule: of log.retention.ms, .minutes and .hours the first one that is set
// counts; a negative age is none.
func TestTopicDefaults(t *testing.T) {
	f := func(want int64, pairs ...string) {
		t.Helper()
		values := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = pairs[i+1]
		}
		c, err := New(values)
		if err != nil {
			t.Fatal(err)
		}
		if got := TopicDefaults(c).RetentionMs; got != want {
			t.Errorf("%v: retention %d, want %d", pairs, got, want)
		}
	}
	f(604800000)
	f(3600000, "log.retention.hours", "1")
	f(120000, "log.retention.hours", "1", "log.retention.minutes", "2")
	f(3, "log.retention.hours", "1", "log.retention.minutes", "2", "log.retention.ms", "3")
	f(-1, "log.retention.hours", "-2")
	f(-1, "log.retention.ms", "-1")
}

func TestDefaultLogConfig(t *testing.T) {
	want := LogConfig{
		CleanupDelete: true, CompressionType: "producer", GzipLevel: -1, Lz4Level: 9, ZstdLevel: 3,
		DeleteRetentionMs: 86400000, FileDeleteDelayMs: 60000, FlushMessages: Unlimited, FlushMs: Unlimited,
		IndexIntervalBytes: 4096, MaxCompactionLagMs: Unlimited, MaxDecompressedMessageBytes: 2147483639, MaxMessageBytes: 1048588,
		TimestampBeforeMaxMs: Unlimited, TimestampAfterMaxMs: 3600000, MinCleanableDirtyRatio: 0.5, MinInsyncReplicas: 1,
		RetentionBytes: -1, RetentionMs: 604800000, SegmentBytes: 1 << 30, SegmentIndexBytes: 10 << 20, SegmentMs: 604800000,
	}
	if diff := cmp.Diff(want, DefaultLogConfig()); diff != "" {
		t.Error(diff)
	}
}
