package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Options are what Open needs to know of a log.
type Options struct {
	FS  vfs.FS
	Dir string // the partition's folder; it is made when missing
	TP  kafka.TopicPartition
	// TopicID is written to partition.metadata when the folder has none. Zero
	// writes nothing.
	TopicID kafka.TopicID
	Config  config.LogConfig

	// LogStart and RecoveryPoint come from the directory's checkpoints; 0 when
	// they have no entry.
	LogStart, RecoveryPoint kafka.Offset
	// Clean says that the marker of a clean shutdown was there: nothing is
	// validated.
	Clean bool
	// SameBoot says that the machine has not lost power since the log was last
	// opened, see SameBoot. Then what was written is there, synced or not, and
	// only the tail that a killed process may have torn is validated.
	SameBoot bool

	Files *Files           // shared by all logs of a node; nil makes a small one
	Now   func() time.Time // nil is time.Now
	// Logger gets what recovery found; nil discards.
	Logger *slog.Logger
	// OnError is called once, with the first write or sync that failed. From
	// then on the log refuses to change.
	OnError func(error)
	// BeforeTruncate is called before bytes below the recovery point go, with
	// the lower one. It must make it durable: a checkpoint that stays behind
	// would call what is written there later synced. It may be nil where no
	// recovery point is kept.
	BeforeTruncate func(recoveryPoint kafka.Offset) error
	// ProducerExpiry is how long a producer without an open transaction is
	// remembered (producer.id.expiration.ms); 0 is for ever.
	ProducerExpiry time.Duration
	Seed           uint64   // of the jitter of segment.ms
	Metrics        *Metrics // shared by all logs of a node; nil: nobody counts
}

// ErrFailed says that an earlier write or sync of the log failed. Its unsynced
// bytes are unknown, so it stays failed until it is opened again.
var ErrFailed = kerr.Errorf(kerr.KafkaStorageError, "an earlier write to this log failed")

// Log is the log of one partition. Its methods may be called from many
// goroutines; those that change it exclude each other. Offsets returned by a
// getter may be old when another goroutine appends.
type Log struct {
	tp      kafka.TopicPartition
	topicID kafka.TopicID
	fs      vfs.FS
	folder  *folder
	files   *Files
	metrics *Metrics // nil: nobody counts
	cfg     atomic.Pointer[config.LogConfig]
	now     func() time.Time
	random  rand.PCG // guarded by writer

	baseLogger     *slog.Logger
	onError        func(error)
	beforeTruncate func(kafka.Offset) error
	expiry         time.Duration

	writer sync.Mutex
	shape  sync.RWMutex
	mu     sync.RWMutex

	// Guarded by mu, changed by the writer only.
	segments  []*segment // never empty; ordered; the last is the active one. Replaced, not changed
	start     kafka.Offset
	end       kafka.Offset
	epochs    epochs
	producers producers
	// recovery is the offset below which all is synced.
	recovery    kafka.Offset
	epochsSaved bool // the epoch file was synced with the present content
	dirSaved    bool // the folder was synced since a file was made, renamed or removed
	bornSaved   bool // the topic id and the folder's own entry were synced

	// Guarded by writer.
	snapshotAt    kafka.Offset // of the newest producer snapshot
	snapshotSaved bool         // it was synced
	sinceSnapshot int64        // bytes appended after it
	firstDirtyMs  int64        // when the oldest append since SyncDue's last sync was made, 0 without
	doomed        []doomed     // renamed to .deleted, waiting to be removed

	syncing   sync.Mutex // one Sync at a time, and none beside a truncation; taken after writer, before shape
	epochFile sync.Mutex // one writer of the epoch file; taken after syncing
	failure   atomic.Pointer[error]
	size      atomic.Int64 // bytes of all segments
	closed    bool         // guarded by writer
}

// doomed is a segment whose files are renamed to .deleted.
type doomed struct {
	segment *segment
	atMs    int64 // when it may be removed
}

func (l *Log) config() *config.LogConfig { return l.cfg.Load() }
func (l *Log) nowMs() int64              { return l.now().UnixMilli() }

// TP is the partition's name.
func (l *Log) TP() kafka.TopicPartition { return l.tp }

// Dir is the folder the log lives in now.
func (l *Log) Dir() string { return l.folder.path() }

// Start is the log start offset: the first that can be read.
func (l *Log) Start() kafka.Offset {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.start
}

// End is the log end offset: that of the next record.
func (l *Log) End() kafka.Offset {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.end
}

// FirstSegment is the base offset of the oldest segment. A log start above it
// has to be kept in the directory's checkpoint.
func (l *Log) FirstSegment() kafka.Offset {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.segments[0].base
}

// ActiveSegment is the base offset of the segment that is appended to. A fetch
// below it reads a segment that no longer grows.
func (l *Log) ActiveSegment() kafka.Offset {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.active().base
}

// Segments is how many segments the log has.
func (l *Log) Segments() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.segments)
}

// Size is the number of bytes of all segments' logs.
func (l *Log) Size() int64 { return l.size.Load() }

// RecoveryPoint is the offset below which every byte is synced.
func (l *Log) RecoveryPoint() kafka.Offset {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.recovery
}

// LastEpoch is the newest leader epoch in the history, NoEpoch without any.
func (l *Log) LastEpoch() kafka.Epoch {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.epochs.last()
}

// Epochs gives a copy of the history of leader epochs.
func (l *Log) Epochs() []EpochStart {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return append([]EpochStart(nil), l.epochs.list...)
}

// EpochEnd answers OffsetForLeaderEpoch: the largest known epoch at or below
// the one asked for and the offset where it ends; (NoEpoch, NoOffset) for an
// epoch that is newer than all, or when there is no history.
func (l *Log) EpochEnd(epoch kafka.Epoch) (kafka.Epoch, kafka.Offset) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.epochs.endOf(epoch, l.end)
}

// EpochAt is the leader epoch of the record at an offset.
func (l *Log) EpochAt(o kafka.Offset) kafka.Epoch {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.epochs.at(o)
}

// SetConfig changes the topic's settings for what comes.
func (l *Log) SetConfig(c config.LogConfig) { l.cfg.Store(&c) }

// Config is the topic's settings as last set.
func (l *Log) Config() config.LogConfig { return *l.config() }

// Err is what made the log fail, or nil.
func (l *Log) Err() error {
	if p := l.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// fail notes the first write or sync that failed; it gives an error that
// answers with KAFKA_STORAGE_ERROR.
func (l *Log) fail(doing string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrFailed) {
		return err
	}
	wrapped := fmt.Errorf("%w: %s of %s-%d: %w", kerr.KafkaStorageError, doing, l.tp.Topic, l.tp.Partition, err)
	if l.failure.CompareAndSwap(nil, &wrapped) && l.onError != nil {
		l.onError(wrapped)
	}
	return wrapped
}

// usable refuses changes of a log that failed or is closed. The caller holds
// writer.
func (l *Log) usable() error {
	switch {
	case l.failure.Load() != nil:
		return ErrFailed
	case l.closed:
		return kerr.Errorf(kerr.KafkaStorageError, "the log of %s-%d is closed", l.tp.Topic, l.tp.Partition)
	}
	return nil
}

func (l *Log) active() *segment { return l.segments[len(l.segments)-1] }

func (l *Log) logger() *slog.Logger {
	if l.baseLogger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l.baseLogger.With("topic", l.tp.Topic, "partition", int32(l.tp.Partition))
}

// Fail makes the log refuse every change from now on, as when its directory has
// failed elsewhere. OnError is not called.
func (l *Log) Fail(err error) {
	wrapped := fmt.Errorf("%w: %w", kerr.KafkaStorageError, err)
	l.failure.CompareAndSwap(nil, &wrapped)
}

// TopicID is the id in the log's partition.metadata when it was opened; zero
// when there is none.
func (l *Log) TopicID() kafka.TopicID { return l.topicID }
