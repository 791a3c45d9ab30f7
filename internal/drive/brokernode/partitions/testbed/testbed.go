// Package testbed runs the replicas of one broker for tests, without a network
// and without a controller: metadata is what the test says it is.
package testbed

import (
	"log/slog"
	"path"
	"sync"
	"testing"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/image"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/edge/await"
)

// Self is the broker under test. Other is a second one, that exists in metadata
// alone.
const (
	Self  kafka.NodeID = 1
	Other kafka.NodeID = 2
)

// Bed is a broker's replicas and the metadata they follow.
type Bed struct {
	// Node is which broker this is: Self, unless it is changed before Start.
	Node     kafka.NodeID
	Manager  *partitions.Manager
	Dirs     *Dirs
	Timers   *await.Timers
	Assigned Assignments
	// Elections of the topics named; set it before Start.
	Elections map[string]partitions.Elections
	// ISR is handed to the manager; set it before Start.
	ISR partitions.ISRProposer
	// Verify has transactional batches verified.
	Verify bool
	// Then is told of every image after the manager; set it before Start.
	Then func(image.Delta, *image.Image)

	t      testing.TB
	img    *image.Image
	before *image.Image
	nextID byte
}

// New makes a bed on a file system with a number of directories; Start begins
// it. Everything is closed at the end of the test.
func New(t testing.TB, fs vfs.FS, root string, dirs int) *Bed {
	b := &Bed{Node: Self, t: t, Dirs: NewDirs(fs, root, dirs), Timers: await.NewTimers(), img: image.Empty(), before: image.Empty()}
	b.Apply(broker(Self), broker(Other))
	return b
}

func broker(id kafka.NodeID) *metarec.RegisterBrokerRecord {
	r := metarec.NewRegisterBrokerRecord()
	r.BrokerId, r.BrokerEpoch, r.IncarnationId = int32(id), 100+int64(id), kafka.UUID{15: 200 + byte(id)}
	r.Fenced = false
	r.EndPoints = []metarec.RegisterBrokerRecordBrokerEndpoint{{Name: "PLAINTEXT", Host: "host", Port: 9090 + uint16(id)}}
	return r
}

// Start loads the logs and publishes the metadata so far.
func (b *Bed) Start() *Bed {
	static, err := config.New(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Manager = partitions.NewManager(partitions.Config{
		Self: b.Node, Broker: static, Dirs: b.Dirs, Assign: &b.Assigned, ISR: b.ISR, Elections: b.Elections,
		Verify: func() bool { return b.Verify }, Timers: b.Timers, Log: slog.New(slog.DiscardHandler),
		Moves: &partitions.Moves{
			Dirs: b.Dirs, Begin: func(*partitions.Partition) {}, Pending: func(kafka.TopicIDPartition) bool { return false },
		},
	})
	b.Dirs.Failed = b.Manager.DirFailed
	b.Publish()
	b.t.Cleanup(b.Stop)
	return b
}

// Stop closes everything, synced.
func (b *Bed) Stop() {
	b.Timers.Close()
	b.Manager.Close()
	if err := b.Dirs.Close(true); err != nil && !b.Dirs.AnyOffline() {
		b.t.Error(err)
	}
}

// Again starts a second bed on another disk, for example what a crash left of
// the first one's, with the same metadata.
func (b *Bed) Again(fs vfs.FS) *Bed { return b.Over(fs).Start() }

// Over is Again without the start.
func (b *Bed) Over(fs vfs.FS) *Bed {
	return &Bed{Node: b.Node, t: b.t, Dirs: b.Dirs.On(fs), Timers: await.NewTimers(), img: b.img, before: image.Empty(), nextID: b.nextID}
}

// On is the same directories on another disk.
func (d *Dirs) On(fs vfs.FS) *Dirs {
	next := NewDirs(fs, "", 0)
	next.Root = d.Root
	return next
}

// Apply takes over metadata records; Publish lets the replicas know.
func (b *Bed) Apply(records ...metarec.Message) {
	b.t.Helper()
	img, _, err := image.Apply(b.img, records)
	if err != nil {
		b.t.Fatal(err)
	}
	b.img = img
}

// Publish lets the replicas follow what was applied.
func (b *Bed) Publish() {
	delta := image.Between(b.before, b.img)
	b.Manager.Publish(delta, b.img)
	if b.Then != nil {
		b.Then(delta, b.img)
	}
	b.before = b.img
}

// Topic makes a topic of n partitions that this broker leads alone, and
// publishes it once the bed was started. Configs are name and value in turn.
func (b *Bed) Topic(name string, n int, configs ...string) kafka.TopicID {
	b.t.Helper()
	id := b.AddTopic(name, configs...)
	for i := range n {
		b.Apply(Partition(id, i, Self))
	}
	if b.Manager != nil {
		b.Publish()
	}
	return id
}

// AddTopic applies a topic without partitions.
func (b *Bed) AddTopic(name string, configs ...string) kafka.TopicID {
	b.t.Helper()
	b.nextID++
	id := kafka.TopicID{0: 0x70, 15: b.nextID}
	b.Apply(&metarec.TopicRecord{Name: name, TopicId: id})
	for i := 0; i+1 < len(configs); i += 2 {
		b.Apply(&metarec.ConfigRecord{ResourceType: int8(image.TopicResource), ResourceName: name, Name: configs[i], Value: &configs[i+1]})
	}
	return id
}

// Partition is the record of a partition with replicas, all in sync, the first
// of them leading in epoch 0. Directories are unassigned.
func Partition(topic kafka.TopicID, n int, replicas ...kafka.NodeID) *metarec.PartitionRecord {
	r := metarec.NewPartitionRecord()
	r.TopicId, r.PartitionId, r.Leader, r.LeaderEpoch, r.PartitionEpoch = topic, int32(n), int32(replicas[0]), 0, 0
	for _, id := range replicas {
		r.Replicas = append(r.Replicas, int32(id))
		r.Directories = append(r.Directories, kafka.DirUnassigned)
	}
	r.Isr = r.Replicas
	return r
}

// Find gives a replica that must be there.
func (b *Bed) Find(topic string, n int) *partitions.Partition {
	b.t.Helper()
	p, err := b.Manager.Named(kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(n)})
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// Bytes are the batches that a replica's files hold, from the one on that holds
// an offset.
func (b *Bed) Bytes(topic string, n int, from kafka.Offset) (kept []byte) {
	b.t.Helper()
	folder := b.Dirs.folder(kafka.TopicPartition{Topic: topic, Partition: kafka.PartitionID(n)}, b.Find(topic, n).Status().Dir)
	entries, err := b.Dirs.FS.ReadDir(folder) // by name, which is the order of offsets
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		if path.Ext(e.Name()) != ".log" {
			continue
		}
		raw, err := vfs.ReadFile(b.Dirs.FS, path.Join(folder, e.Name()), 1<<30)
		if err != nil {
			b.t.Fatal(err)
		}
		for h, bytes := range batch.All(raw) {
			if h.End() > from {
				kept = append(kept, bytes...)
			}
		}
	}
	return kept
}

// Assignments collects what the replicas report about their directories.
type Assignments struct {
	mu sync.Mutex
	to map[kafka.TopicIDPartition]kafka.DirID
}

// Assign implements partitions.Assigner.
func (a *Assignments) Assign(replica kafka.TopicIDPartition, dir kafka.DirID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.to == nil {
		a.to = map[kafka.TopicIDPartition]kafka.DirID{}
	}
	a.to[replica] = dir
}

// Unassign implements partitions.Assigner.
func (a *Assignments) Unassign(replica kafka.TopicIDPartition) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.to, replica)
}

// Of is the directory that was reported last for a replica.
func (a *Assignments) Of(replica kafka.TopicIDPartition) (kafka.DirID, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	dir, ok := a.to[replica]
	return dir, ok
}

// Elect is the record that makes a replica lead, in the next leader epoch.
func Elect(topic kafka.TopicID, n int, leader kafka.NodeID) *metarec.PartitionChangeRecord {
	r := metarec.NewPartitionChangeRecord()
	r.TopicId, r.PartitionId, r.Leader = topic, int32(n), int32(leader)
	return r
}
