package storage

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
)

// identity is which log this is, where it lives and how it is set up.
type identity struct {
	partition  kafka.TopicPartition
	topicID    kafka.TopicID
	folder     *folder
	settings   atomic.Pointer[config.LogConfig]
	now        func() time.Time
	baseLogger *slog.Logger
}

// TP is the partition's name.
func (i *identity) TP() kafka.TopicPartition { return i.partition }

// TopicID is the id in the log's partition.metadata when it was opened; zero
// when there is none.
func (i *identity) TopicID() kafka.TopicID { return i.topicID }

// Dir is the folder the log lives in now.
func (i *identity) Dir() string { return i.folder.path() }

// Config is the topic's settings as last set.
func (i *identity) Config() config.LogConfig { return *i.config() }

func (i *identity) config() *config.LogConfig { return i.settings.Load() }

func (i *identity) nowMs() int64 { return i.now().UnixMilli() }

func (i *identity) logger() *slog.Logger {
	if i.baseLogger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return i.baseLogger.With("topic", i.partition.Topic, "partition", int32(i.partition.Partition))
}
