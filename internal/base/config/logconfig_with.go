package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/kerr"
)

// DefaultLogConfig is what a topic gets from a broker that sets nothing.
func DefaultLogConfig() LogConfig {
	var lc LogConfig
	for i := range topicKeys {
		if k := &topicKeys[i]; k.HasDefault() {
			lc.set(k.Name, k.Default)
		}
	}
	return lc
}

// TopicDefaults is what a topic gets that overrides nothing on a broker with
// these settings: of a topic key's synonyms the first one that is set counts,
// and hours and minutes become milliseconds.
func TopicDefaults(c *Config) LogConfig {
	lc := DefaultLogConfig()
	for i := range topicKeys {
		name := topicKeys[i].Name
		for _, s := range synonymsOf(name) {
			if text, set := c.text(s.name); set {
				lc.set(name, inUnit(text, s.unit))
				break
			}
		}
	}
	return lc
}

// inUnit turns a broker's hours or minutes into a topic's milliseconds.
func inUnit(text string, unit int64) string {
	if unit == 1 {
		return text
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return text
	}
	if n < 0 {
		return "-1" // any negative age means that there is no limit
	}
	return strconv.FormatInt(n*unit, 10)
}

// With is the configuration with a topic's overrides on top, all of which are
// checked: the error is kerr.InvalidConfig with Kafka's message.
func (lc LogConfig) With(overrides map[string]string) (LogConfig, error) {
	names := make([]string, 0, len(overrides))
	for name := range overrides {
		names = append(names, name)
	}
	slices.Sort(names) // of several errors always the same one is told
	for _, name := range names {
		if err := CheckTopicConfig(name, overrides[name]); err != nil {
			return LogConfig{}, err
		}
		lc.set(name, overrides[name])
	}
	if lc.MinCompactionLagMs > lc.MaxCompactionLagMs {
		return LogConfig{}, kerr.Errorf(kerr.InvalidConfig, "conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)",
			lc.MinCompactionLagMs, lc.MaxCompactionLagMs)
	}
	return lc, nil
}

// Overlay is With for overrides that come out of the metadata log: what this
// release cannot read is left at the layer below, as Kafka does. Keys that say
// nothing to a log are not looked at: a list of throttled replicas may be long.
func (lc LogConfig) Overlay(overrides map[string]string) LogConfig {
	for name, value := range overrides {
		if OfLog(name) && CheckTopicConfig(name, value) == nil {
			lc.set(name, value)
		}
	}
	return lc
}

// OfLog tells whether a topic's key says something to a log. The others are unknown,
// or of no effect, or lists of throttled replicas.
func OfLog(name string) bool {
	k := LookupTopic(name)
	return k != nil && k.Use != Unused && k.Valid != replicaPairs
}

// CheckTopicConfig tells why a topic cannot be given a setting: the error is
// kerr.InvalidConfig with Kafka's message. Rules between two settings of one
// topic are With's.
func CheckTopicConfig(name, value string) error {
	k := LookupTopic(name)
	if k == nil {
		return kerr.Errorf(kerr.InvalidConfig, "Unknown topic config name: %s", name)
	}
	if err := k.Check(value); err != nil {
		return kerr.Errorf(kerr.InvalidConfig, "%s", err.Error())
	}
	if on, err := parseBool(strings.TrimSpace(value)); name == "remote.storage.enable" && err == nil && on {
		return kerr.Errorf(kerr.InvalidConfig, "Tiered Storage functionality is disabled in the broker. "+
			"Topic cannot be configured with remote log storage.")
	}
	return nil
}

// set stores one checked value under its key's name.
func (lc *LogConfig) set(name, text string) {
	text = strings.TrimSpace(text)
	switch name {
	case "cleanup.policy":
		policies := splitList(text)
		lc.CleanupDelete, lc.CleanupCompact = slices.Contains(policies, "delete"), slices.Contains(policies, "compact")
	case "compression.type":
		lc.CompressionType = text
	case "compression.gzip.level":
		lc.GzipLevel = int(number(text))
	case "compression.lz4.level":
		lc.Lz4Level = int(number(text))
	case "compression.zstd.level":
		lc.ZstdLevel = int(number(text))
	case "delete.retention.ms":
		lc.DeleteRetentionMs = number(text)
	case "file.delete.delay.ms":
		lc.FileDeleteDelayMs = number(text)
	case "flush.messages":
		lc.FlushMessages = number(text)
	case "flush.ms":
		lc.FlushMs = number(text)
	case "index.interval.bytes":
		lc.IndexIntervalBytes = int(number(text))
	case "max.compaction.lag.ms":
		lc.MaxCompactionLagMs = number(text)
	case "max.decompressed.message.bytes":
		lc.MaxDecompressedMessageBytes = int(number(text))
	case "max.message.bytes":
		lc.MaxMessageBytes = int(number(text))
	case "message.timestamp.after.max.ms":
		lc.TimestampAfterMaxMs = number(text)
	case "message.timestamp.before.max.ms":
		lc.TimestampBeforeMaxMs = number(text)
	case "message.timestamp.type":
		lc.LogAppendTime = text == "LogAppendTime"
	case "min.cleanable.dirty.ratio":
		lc.MinCleanableDirtyRatio, _ = parseDouble(text)
	case "min.compaction.lag.ms":
		lc.MinCompactionLagMs = number(text)
	case "min.insync.replicas":
		lc.MinInsyncReplicas = int(number(text))
	case "preallocate":
		lc.Preallocate, _ = parseBool(text)
	case "retention.bytes":
		lc.RetentionBytes = number(text)
	case "retention.ms":
		lc.RetentionMs = number(text)
	case "segment.bytes", "internal.segment.bytes":
		lc.SegmentBytes = int(number(text))
	case "segment.index.bytes":
		lc.SegmentIndexBytes = int(number(text))
	case "segment.jitter.ms":
		lc.SegmentJitterMs = number(text)
	case "segment.ms":
		lc.SegmentMs = number(text)
	case "unclean.leader.election.enable":
		lc.UncleanLeaderElection, _ = parseBool(text)
	}
}

// number reads a text that Check has passed.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("config: unchecked number %q", text))
	}
	return n
}

// Unlimited is the value of bounds that are not there.
const Unlimited = math.MaxInt64
