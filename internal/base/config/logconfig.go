package config

// LogConfig is what one partition's log and its replica logic are told by the
// topic's settings, or by the broker's where the topic is silent. It is a
// value: a change of configuration makes another one. The fields stand in the
// order of Kafka's topic keys; the unit is in the name.
type LogConfig struct {
	CleanupDelete  bool // cleanup.policy holds "delete"
	CleanupCompact bool // cleanup.policy holds "compact"

	// CompressionType is "producer" (keep what was sent), "uncompressed",
	// "gzip", "snappy", "lz4" or "zstd".
	CompressionType                string
	GzipLevel, Lz4Level, ZstdLevel int
	DeleteRetentionMs              int64 // how long a tombstone outlives its first cleaning
	FileDeleteDelayMs              int64
	FlushMessages                  int64 // sync after so many records
	FlushMs                        int64 // sync a record no later than this
	IndexIntervalBytes             int
	MaxCompactionLagMs             int64
	MaxDecompressedMessageBytes    int
	MaxMessageBytes                int // the largest batch, headers included
	TimestampBeforeMaxMs           int64
	TimestampAfterMaxMs            int64
	LogAppendTime                  bool // message.timestamp.type is LogAppendTime
	MinCleanableDirtyRatio         float64
	MinCompactionLagMs             int64
	MinInsyncReplicas              int
	Preallocate                    bool
	RetentionBytes                 int64 // -1 keeps any size
	RetentionMs                    int64 // -1 keeps any age
	SegmentBytes                   int
	SegmentIndexBytes              int
	SegmentJitterMs                int64
	SegmentMs                      int64
	UncleanLeaderElection          bool
}
