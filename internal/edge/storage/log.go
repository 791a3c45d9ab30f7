package storage

import (
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
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
	// Cleaned is up to where the log was compacted, of the same source.
	Cleaned kafka.Offset
	// Gapless says that nothing but this package has written to the log since it
	// was last found whole. Then a segment that ends below the next one has lost
	// its end, unless it was compacted. Apache Kafka leaves such gaps: its
	// cleaner, which runs ahead of its checkpoint, and a follower of a
	// compacted partition.
	Gapless bool
	// Clean says that the marker of a clean shutdown was there: nothing is
	// validated.
	Clean bool
	// SameBoot says that the machine has not lost power since the log was last
	// opened, see BootNote. Then what was written is there, synced or not, and
	// only the tail that a killed process may have torn is validated.
	SameBoot bool

	// Whole has every record validated by its checksum, also what was synced: the
	// disk has failed since.
	Whole bool

	// Births make the folders of new logs; only New needs them.
	Births *Births
	Files  *Files           // shared by all logs of a node; nil makes a small one
	Now    func() time.Time // nil is time.Now
	// Logger gets what recovery found; nil discards.
	Logger *slog.Logger
	// OnError is called once, with the first write or sync that failed. From
	// then on the log refuses to change.
	OnError func(error)
	// OnWork is called when there is something for Tick to do, or the log's start or
	// recovery point has changed, once until Tick begins. It must not block or use the log, as the log's locks may be held.
	OnWork func(*Log)
	// BeforeTruncate is called before bytes below the recovery point go, with
	// the lower one. It must make it durable: a checkpoint that stays behind
	// would call what is written there later synced. It may be nil where no
	// recovery point is kept.
	BeforeTruncate func(recoveryPoint kafka.Offset) error
	Seed           uint64   // of the jitter of segment.ms
	Metrics        *Metrics // shared by all logs of a node; nil: nobody counts
}

// Log is the log of one partition. Its methods may be called from many
// goroutines; those that change it exclude each other. Offsets returned by a
// getter may be old when another goroutine appends.
type Log struct {
	identity
	health
	state

	fs      vfs.FS
	files   *Files
	onWork  func(*Log)
	stirred atomic.Bool // OnWork was called since Tick began last
	metrics *Metrics    // nil: nobody counts
	random  rand.PCG    // guarded by writer

	beforeTruncate func(kafka.Offset) error

	sealed  sync.Mutex
	writer  sync.Mutex
	syncing sync.Mutex // one Sync at a time, and none beside a truncation
	shape   sync.RWMutex

	snapshots snapshots    // guarded by writer
	epochFile sync.Mutex   // one writer of the epoch file at a time
	size      atomic.Int64 // bytes of all segments

	// Guarded by writer.
	verifying    verifications
	firstDirtyMs int64    // when the oldest append since SyncDue's last sync was made, 0 without
	doomed       []doomed // renamed to .deleted, waiting to be removed
}

// Size is the number of bytes of all segments' logs.
func (l *Log) Size() int64 { return l.size.Load() }
