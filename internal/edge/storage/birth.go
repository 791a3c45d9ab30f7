package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// New gives the empty log of a new partition whose folder, as the caller knows, is
// not there. It is made when something is first written to it, or when its turn has come
// among opt.Births, whichever is first: many logs are made at once, and who waits for
// one of them must not wait for all. Until then a crash leaves nothing of a log that
// held nothing.
func New(opt Options) *Log {
	l := newLog(opt)
	l.topicID = opt.TopicID
	l.folder.birth.Store(&birth{topic: opt.TopicID, births: opt.Births})
	l.beginBlank()
	opt.Births.add(l)
	return l
}

// Births are the new logs of one directory whose folders are to be made, as many as
// metadata assigns to the broker at once. One goroutine makes them while there are any.
// The lock is a leaf.
type Births struct {
	spawn func(func())

	mu      sync.Mutex
	waiting []*Log
	working bool
	closed  bool
	// kin has a partition.metadata of each topic whose logs are being made. All
	// partitions of a topic have the same one, and a second name for a file costs a
	// small part of a second file.
	kin map[kafka.TopicID]string
}

// NewBirths makes folders on goroutines that spawn runs. Who gave it waits for them.
func NewBirths(spawn func(func())) *Births { return &Births{spawn: spawn} }

func (b *Births) add(l *Log) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.waiting = append(b.waiting, l)
	if !b.working {
		b.working = true
		b.spawn(b.work)
	}
}

// work makes folders in the order in which the logs came. One that cannot be made is
// a failed write of its log, which tells of it.
func (b *Births) work() {
	for l := b.next(); l != nil; l = b.next() {
		l.make()
	}
}

// next is nil when no log waits; then no topic needs to be remembered either.
func (b *Births) next() *Log {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		b.waiting, b.kin, b.working = nil, nil, false
		return nil
	}
	l := b.waiting[0]
	b.waiting = b.waiting[1:]
	return l
}

// Close lets no more folders be made but those that something is written to.
func (b *Births) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting, b.closed = nil, true
}

// relative is the partition.metadata of another partition of the topic, "" when none
// is known.
func (b *Births) relative(topic kafka.TopicID) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kin[topic]
}

func (b *Births) remember(topic kafka.TopicID, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.working {
		return
	}
	if b.kin == nil {
		b.kin = map[kafka.TopicID]string{}
	}
	b.kin[topic] = name
}

// make makes the folder unless it is there.
func (l *Log) make() {
	l.writer.Lock()
	defer l.writer.Unlock()
	if l.usable() == nil {
		_ = l.refuse("make", l.folder.bear()) // refuse tells of it
	}
}

// blank tells whether nothing has ever been written to the log. The writer is held.
func (l *Log) blank() bool { return len(l.segments) == 1 && l.segments[0].log.isUnborn() }

// birth is how a folder comes to be.
type birth struct {
	topic  kafka.TopicID
	births *Births
	made   bool // the folder is there, though it may lack the topic's id
}

// bear makes the folder with the topic's id in it, unless it is there. After a failure
// it can be called again.
func (f *folder) bear() error {
	if f.birth.Load() == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.birth.Load()
	if b == nil {
		return nil
	}
	if !b.made {
		if err := makeFresh(f.fs, f.name); err != nil {
			return err
		}
		b.made = true
	}
	if err := b.name(f.fs, filepath.Join(f.name, PartitionMetadataFile)); err != nil {
		return err
	}
	f.birth.Store(nil)
	return nil
}

// unborn tells whether the folder is not there yet.
func (f *folder) unborn() bool { return f.birth.Load() != nil }

// makeFresh makes a folder, or takes an empty one for it.
func makeFresh(disk vfs.FS, name string) error {
	err := disk.Mkdir(name, 0o755)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	list, err := disk.ReadDir(name)
	if err == nil && len(list) > 0 {
		err = fmt.Errorf("%s has appeared while the node was running, with files in it", name)
	}
	return err
}

// name gives the folder the topic's id: a second name for the file of another
// partition, or where there is none, or the disk has no such names, a file.
func (b *birth) name(disk vfs.FS, file string) error {
	if b.topic.IsZero() {
		return nil
	}
	if kin := b.births.relative(b.topic); kin != "" && disk.Link(kin, file) == nil {
		return nil
	}
	if err := writeTopicID(disk, file, b.topic); err != nil {
		return err
	}
	b.births.remember(b.topic, file)
	return nil
}
