package testbed

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/drive/brokernode/partitions"
	"github.com/ottla/ottla/internal/edge/storage"
)

// Dirs are plain folders, one for each directory id, without checkpoints.
type Dirs struct {
	FS   vfs.FS
	Root map[kafka.DirID]string
	// Failed is called with a directory whose disk has failed.
	Failed func(kafka.DirID)

	mu      sync.Mutex
	open    map[*storage.Log]kafka.DirID
	offline map[kafka.DirID]bool
	// Aside lists what was set aside as stray, Gone what was deleted.
	Aside, Gone []kafka.TopicPartition
	// Later counts the logs that CreateLater made.
	Later int
}

// NewDirs makes count directories below root.
func NewDirs(fs vfs.FS, root string, count int) *Dirs {
	d := &Dirs{FS: fs, Root: map[kafka.DirID]string{}, open: map[*storage.Log]kafka.DirID{}, offline: map[kafka.DirID]bool{}}
	for i := range count {
		d.Root[DirID(i)] = path.Join(root, fmt.Sprintf("disk%d", i))
	}
	return d
}

// DirID is the id of the i-th directory.
func DirID(i int) kafka.DirID { return kafka.DirID{0: 0xd1, 15: byte(i)} }

// Loaded implements partitions.Dirs.
func (d *Dirs) Loaded() (found []partitions.LoadedLog) {
	for _, id := range slices.SortedFunc(maps.Keys(d.Root), kafka.DirID.Compare) {
		entries, _ := d.FS.ReadDir(d.Root[id]) // a folder that is not there holds nothing
		for _, e := range entries {
			at := strings.LastIndexByte(e.Name(), '-')
			n, err := strconv.Atoi(e.Name()[at+1:])
			if err != nil {
				continue
			}
			tp := kafka.TopicPartition{Topic: e.Name()[:at], Partition: kafka.PartitionID(n)}
			log, topic, err := d.load(tp, id)
			if err == nil {
				found = append(found, partitions.LoadedLog{Name: tp, Topic: topic, Dir: id, Log: log})
			}
		}
	}
	return found
}

func (d *Dirs) load(tp kafka.TopicPartition, id kafka.DirID) (*storage.Log, kafka.TopicID, error) {
	topic, err := storage.ReadTopicID(d.FS, d.folder(tp, id))
	if err != nil {
		return nil, topic, err
	}
	log, err := d.openLog(tp, topic, id, config.DefaultLogConfig())
	return log, topic, err
}

func (d *Dirs) folder(tp kafka.TopicPartition, id kafka.DirID) string {
	return path.Join(d.Root[id], fmt.Sprintf("%s-%d", tp.Topic, tp.Partition))
}

func (d *Dirs) openLog(tp kafka.TopicPartition, topic kafka.TopicID, id kafka.DirID, c config.LogConfig) (*storage.Log, error) {
	return d.openIn(d.folder(tp, id), tp, topic, id, c)
}

func (d *Dirs) openIn(folder string, tp kafka.TopicPartition, topic kafka.TopicID, id kafka.DirID, c config.LogConfig) (*storage.Log, error) {
	log, err := storage.Open(storage.Options{
		FS: d.FS, Dir: folder, TP: tp, TopicID: topic, Config: c,
		OnError: func(error) { d.Fail(id) },
	})
	if err == nil {
		d.mu.Lock()
		d.open[log] = id
		d.mu.Unlock()
	}
	return log, err
}

// Fail takes a directory offline.
func (d *Dirs) Fail(id kafka.DirID) {
	d.mu.Lock()
	known := d.offline[id]
	d.offline[id] = true
	d.mu.Unlock()
	if !known && d.Failed != nil {
		go d.Failed(id) // the log that failed is locked right now
	}
}

// Reload opens the logs of a directory that has failed, which is still offline.
func (d *Dirs) Reload(id kafka.DirID) []partitions.LoadedLog {
	d.mu.Lock()
	for l, at := range d.open {
		if at == id {
			delete(d.open, l)
			_ = l.Close(false) // it may have failed
		}
	}
	d.mu.Unlock()
	return slices.DeleteFunc(d.Loaded(), func(l partitions.LoadedLog) bool { return l.Dir != id })
}

// Heal takes a directory online.
func (d *Dirs) Heal(id kafka.DirID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.offline, id)
}

// Create implements partitions.Dirs.
func (d *Dirs) Create(tp kafka.TopicPartition, topic kafka.TopicID, dir kafka.DirID, c config.LogConfig) (*storage.Log, kafka.DirID, error) {
	if dir.IsZero() {
		dir = d.emptiest()
	}
	if err := vfs.MkdirAllSync(d.FS, d.folder(tp, dir), 0o755); err != nil {
		return nil, dir, err
	}
	log, err := d.openLog(tp, topic, dir, c)
	return log, dir, err
}

// CreateLater is Create, and counts.
func (d *Dirs) CreateLater(tp kafka.TopicPartition, topic kafka.TopicID, dir kafka.DirID, c config.LogConfig) (*storage.Log, kafka.DirID, error) {
	d.mu.Lock()
	d.Later++
	d.mu.Unlock()
	return d.Create(tp, topic, dir, c)
}

// CreateFuture implements partitions.Futures.
func (d *Dirs) CreateFuture(tp kafka.TopicPartition, topic kafka.TopicID, dir kafka.DirID, c config.LogConfig) (*storage.Log, error) {
	return d.openIn(d.folder(tp, dir)+".00000000000000000000000000000000-future", tp, topic, dir, c)
}

// Promote implements partitions.Futures.
func (d *Dirs) Promote(future, current *storage.Log) error {
	d.mu.Lock()
	dir := d.open[future]
	d.mu.Unlock()
	if err := future.Rename(d.folder(future.TP(), dir)); err != nil || current == nil {
		return err
	}
	return d.Delete(current)
}

func (d *Dirs) emptiest() kafka.DirID {
	d.mu.Lock()
	defer d.mu.Unlock()
	count := map[kafka.DirID]int{}
	for _, id := range d.open {
		count[id]++
	}
	ids := slices.SortedFunc(maps.Keys(d.Root), kafka.DirID.Compare)
	ids = slices.DeleteFunc(ids, func(id kafka.DirID) bool { return d.offline[id] })
	return slices.MinFunc(ids, func(a, b kafka.DirID) int { return count[a] - count[b] })
}

// Delete implements partitions.Dirs.
func (d *Dirs) Delete(l *storage.Log) error {
	d.mu.Lock()
	d.Gone = append(d.Gone, l.TP())
	d.mu.Unlock()
	return d.away(l)
}

// Stray implements partitions.Dirs.
func (d *Dirs) Stray(l *storage.Log) error {
	d.mu.Lock()
	d.Aside = append(d.Aside, l.TP())
	d.mu.Unlock()
	return d.away(l)
}

func (d *Dirs) away(l *storage.Log) error {
	d.mu.Lock()
	delete(d.open, l)
	d.mu.Unlock()
	if err := l.Close(false); err != nil {
		return err
	}
	return d.FS.RemoveAll(l.Dir())
}

// Online implements partitions.Dirs.
func (d *Dirs) Online(id kafka.DirID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.Root[id]
	return known && !d.offline[id]
}

// AnyOffline implements partitions.Dirs.
func (d *Dirs) AnyOffline() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.offline) > 0
}

// Several implements partitions.Dirs. A directory that failed counts, though its id
// may not be known.
func (d *Dirs) Several() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	count := len(d.Root)
	for id := range d.offline {
		if _, known := d.Root[id]; !known {
			count++
		}
	}
	return count > 1
}

// Close closes all logs.
func (d *Dirs) Close(sync bool) (err error) {
	d.mu.Lock()
	open := d.open
	d.open = map[*storage.Log]kafka.DirID{}
	d.mu.Unlock()
	for l := range open {
		if failed := l.Close(sync); err == nil {
			err = failed
		}
	}
	return err
}
