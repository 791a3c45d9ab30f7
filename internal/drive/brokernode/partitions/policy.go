package partitions

import (
	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/config"
)

// policy is the configuration of a topic, and what it means.
type policy struct {
	log   config.LogConfig
	batch batch.Policy // for client batches, but for the time
	// syncEvery is after how many records a sync is due.
	syncEvery int64
}

func newPolicy(c config.LogConfig) *policy {
	b := batch.Policy{
		MaxBytes: c.MaxMessageBytes, MaxDecompressed: c.MaxDecompressedMessageBytes,
		BeforeMax: c.TimestampBeforeMaxMs, AfterMax: c.TimestampAfterMaxMs,
		LogAppendTime: c.LogAppendTime, Compacted: c.CleanupCompact,
	}
	if codec, err := batch.ParseCodec(c.CompressionType); err == nil { // "producer" names none
		b.Recompress, b.Codec = true, codec
		switch codec {
		case batch.Gzip:
			b.Level = c.GzipLevel
		case batch.Lz4:
			b.Level = c.Lz4Level
		case batch.Zstd:
			b.Level = c.ZstdLevel
		}
	}
	p := &policy{log: c, batch: b, syncEvery: c.FlushMessages}
	if c.FlushMs <= 0 {
		p.syncEvery = 1
	}
	return p
}

// policyFor gives the policy of a topic's configuration. Most topics have the same, and
// their partitions share it.
func (m *Manager) policyFor(c config.LogConfig) *policy {
	if last := m.policy.Load(); last != nil && last.log == c {
		return last
	}
	p := newPolicy(c)
	m.policy.Store(p)
	return p
}

// Policy is the configuration of the topic. It may not be changed.
func (p *state) Policy() *config.LogConfig { return &p.policy.Load().log }

// BatchPolicy is what the topic asks of client batches that arrive at nowMs
// (milliseconds since 1970).
func (p *state) BatchPolicy(nowMs int64) batch.Policy {
	b := p.policy.Load().batch
	b.Now = nowMs
	return b
}
