package partitions

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/storage"
	"github.com/ottla/ottla/internal/edge/storage/dirs"
)

// Dirs are the log directories of this broker; *dirs.Dirs is one.
type Dirs interface {
	// Loaded are the logs that were found at the start. It is asked once.
	Loaded() []LoadedLog
	// Create makes the log of a new replica in the named directory, or in one of
	// its own choice where dir is zero, and tells which.
	Create(tp kafka.TopicPartition, topic kafka.TopicID, dir kafka.DirID, c config.LogConfig) (*storage.Log, kafka.DirID, error)
	// CreateLater is Create of a log whose folder may be made later.
	CreateLater(tp kafka.TopicPartition, topic kafka.TopicID, dir kafka.DirID, c config.LogConfig) (*storage.Log, kafka.DirID, error)
	// Delete takes the log out of service at once; its files go later.
	Delete(l *storage.Log) error
	// Stray sets a log aside that metadata does not know, for people to look at.
	Stray(l *storage.Log) error
	// Online tells whether a directory is one of ours and works.
	Online(dir kafka.DirID) bool
	// AnyOffline tells whether a configured directory does not work.
	AnyOffline() bool
	// Several tells whether more than one directory is configured.
	Several() bool
}

// LoadedLog is a log that was there at the start.
type LoadedLog = dirs.LoadedLog

// Assigner is told in which directory a replica lies, where metadata says
// something else (KIP-858), and of which replicas there is nothing to tell any more:
// metadata agrees, or they are gone. It must not block.
type Assigner interface {
	Assign(replica kafka.TopicIDPartition, dir kafka.DirID)
	Unassign(replica kafka.TopicIDPartition)
}

// ISRProposer asks the controller for another ISR (AlterPartition) and answers
// by Manager.Proposed. It must not block.
type ISRProposer interface {
	Propose(tp kafka.TopicIDPartition, p *replica.Proposal)
}

// Elections is told what this broker begins and ceases to lead, in order.
// Neither method may block or call back into the Manager.
type Elections interface {
	// Elected: the broker leads the partition in an epoch.
	Elected(tp kafka.TopicPartition, epoch kafka.Epoch)
	// Resigned: it no longer leads it; deleted says that the topic is gone.
	Resigned(tp kafka.TopicPartition, epoch kafka.Epoch, deleted bool)
}

// Config is what a Manager is made of.
type Config struct {
	Self   kafka.NodeID
	Broker *config.Config // static configuration
	Dirs   Dirs
	Assign Assigner
	// ISR may be nil on a broker whose partitions have one replica each:
	// proposals are dropped then.
	ISR ISRProposer
	// Elections of the topics named, for coordinators.
	Elections map[string]Elections
	// Verify tells whether a transactional batch is refused unless its transaction
	// is open here, or its coordinator was asked
	// (transaction.partition.verification.enable). Nil: it is.
	Verify func() bool
	Timers *await.Timers
	Log    *slog.Logger
	// Moves is what moves of replicas between directories need; nil: there are none.
	Moves *Moves
}

// Manager holds the replicas of this broker and follows metadata.
type Manager struct {
	cfg    Config
	began  time.Time
	lagMax time.Duration
	// lateAfter is for how long a transaction may be open before it is late.
	lateAfter time.Duration
	image     atomic.Pointer[image.Image]
	work      sync.WaitGroup // syncs under way

	figures figures
	traffic traffics
	moves   atomic.Uint64          // of high watermarks
	policy  atomic.Pointer[policy] // that a replica got last

	mu     sync.RWMutex
	byName map[kafka.TopicPartition]*Partition
	byID   map[kafka.TopicIDPartition]*Partition
	wishes map[kafka.TopicPartition]kafka.DirID // where replicas are to be made that are not here yet

	moving sync.Mutex            // one move begins or is cancelled at a time; before all other locks
	fates  map[kafka.DirID]*fate // of the directories that hold replicas and work

	// publishing is held while metadata, or the return of a directory, changes which
	// replicas there are. It comes before all other locks of this package.
	publishing sync.Mutex

	// Guarded by publishing.
	loaded   map[kafka.TopicPartition][]LoadedLog // not attached yet
	defaults config.LogConfig
	started  bool
	made     bool // this Publish has made a log
}

// NewManager makes a manager of the logs that were found in the directories.
// Nothing is served before the first Publish.
func NewManager(c Config) *Manager {
	m := &Manager{
		cfg: c, began: time.Now(), lagMax: c.Broker.Duration("replica.lag.time.max.ms"),
		lateAfter: c.Broker.Duration("transaction.max.timeout.ms") + lateBuffer,
		byName:    map[kafka.TopicPartition]*Partition{}, byID: map[kafka.TopicIDPartition]*Partition{},
		fates: map[kafka.DirID]*fate{}, wishes: map[kafka.TopicPartition]kafka.DirID{}, loaded: map[kafka.TopicPartition][]LoadedLog{}, defaults: config.TopicDefaults(c.Broker),
	}
	m.image.Store(image.Empty())
	for _, l := range c.Dirs.Loaded() {
		m.loaded[l.Name] = append(m.loaded[l.Name], l)
	}
	return m
}

// Close waits for syncs under way. Nothing may be appended any more.
func (m *Manager) Close() { m.work.Wait() }

func (m *Manager) now() kafka.Instant { return kafka.Instant(time.Since(m.began)) }

// Image is the metadata that the replicas follow.
func (m *Manager) Image() *image.Image { return m.image.Load() }

// Named finds a replica by its topic's name. The error is
// UnknownTopicOrPartition, NotLeaderOrFollower where another broker has it, or
// KafkaStorageError.
func (m *Manager) Named(tp kafka.TopicPartition) (*Partition, error) {
	m.mu.RLock()
	p := m.byName[tp]
	m.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	if _, ok := m.Image().Partition(tp); ok {
		return nil, kerr.NotLeaderOrFollower
	}
	return nil, kerr.UnknownTopicOrPartition
}

// ByID finds a replica by its topic's id. The error is UnknownTopicId for a
// topic that is not there, else as of Named.
func (m *Manager) ByID(id kafka.TopicIDPartition) (*Partition, error) {
	m.mu.RLock()
	p := m.byID[id]
	m.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	img := m.Image()
	if _, ok := img.TopicByID(id.Topic); !ok {
		return nil, kerr.UnknownTopicId
	}
	if _, _, ok := img.PartitionByID(id); ok {
		return nil, kerr.NotLeaderOrFollower
	}
	return nil, kerr.UnknownTopicOrPartition
}

// All gives the replicas of this broker, in no order.
func (m *Manager) All() []*Partition {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := make([]*Partition, 0, len(m.byID))
	for _, p := range m.byID {
		all = append(all, p)
	}
	return all
}

func (m *Manager) add(p *Partition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byName[p.Name], m.byID[p.ID] = p, p
}

// remove forgets a replica. A topic that was made again under the same name
// keeps its new one.
func (m *Manager) remove(p *Partition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byID, p.ID)
	m.traffic.leave(p.Name.Topic)
	if m.byName[p.Name] == p {
		delete(m.byName, p.Name)
	}
}

// HighWatermark is what to checkpoint for a replica.
func (m *Manager) HighWatermark(tp kafka.TopicPartition) (kafka.Offset, bool) {
	m.mu.RLock()
	p := m.byName[tp]
	m.mu.RUnlock()
	if p == nil {
		return 0, false
	}
	return p.checkpoint()
}

// HighWatermarkMoves counts how often a high watermark has moved: while it stands
// still there is nothing new to checkpoint.
func (m *Manager) HighWatermarkMoves() uint64 { return m.moves.Load() }

// Trimmed says that the start of a log has moved, by retention.
func (m *Manager) Trimmed(tp kafka.TopicPartition) {
	m.mu.RLock()
	p := m.byName[tp]
	m.mu.RUnlock()
	if p != nil {
		p.membership().trimmed()
	}
}

// DirFailed takes the replicas of a directory out of service: they answer
// KAFKA_STORAGE_ERROR, and what waits on them is answered. It waits for no replica:
// where a write hangs, the rest of it follows once that has returned.
func (m *Manager) DirFailed(dir kafka.DirID) {
	m.fell(dir)
	for _, p := range m.All() {
		p.membership().failed(dir)
	}
}

// Tick looks for followers that have fallen behind. It is to be called every
// half of replica.lag.time.max.ms, see TickEvery.
func (m *Manager) Tick() {
	for _, p := range m.All() {
		p.membership().tick()
	}
}

// TickEvery is how often Tick has to be called.
func (m *Manager) TickEvery() time.Duration { return m.lagMax / 2 }

// Proposed brings the controller's answer to a proposal.
func (m *Manager) Proposed(tp kafka.TopicIDPartition, answer replica.Proposed) {
	m.mu.RLock()
	p := m.byID[tp]
	m.mu.RUnlock()
	if p != nil {
		p.membership().proposed(answer)
	}
}
