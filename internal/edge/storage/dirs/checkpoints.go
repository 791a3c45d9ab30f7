package dirs

import (
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

// checkpoints are the files beside the logs of one directory, as they were last
// written.
type checkpoints struct {
	fs   vfs.FS
	root string

	mu       sync.Mutex
	recovery storage.Offsets
	starts   storage.Offsets
	marks    storage.Offsets // high watermarks
	cleaned  storage.Offsets
}

// read loads the files. One that is damaged counts as empty: the logs are then
// validated from their beginning, and a replica asks its leader for the high
// watermark.
func (c *checkpoints) read(log *slog.Logger) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.files() {
		o, err := storage.ReadOffsets(c.fs, filepath.Join(c.root, f.name))
		if isDamaged(err) {
			log.Warn("a damaged checkpoint counts as empty", "file", filepath.Join(c.root, f.name), "error", err)
			o, err = storage.Offsets{}, nil
		}
		if err != nil {
			return err
		}
		*f.offsets = o
	}
	return nil
}

type checkpointFile struct {
	name    string
	offsets *storage.Offsets
}

func (c *checkpoints) files() []checkpointFile {
	return []checkpointFile{
		{RecoveryPointFile, &c.recovery}, {LogStartFile, &c.starts},
		{HighWatermarkFile, &c.marks}, {CleanerFile, &c.cleaned},
	}
}

func (c *checkpoints) highWatermark(tp kafka.TopicPartition) kafka.Offset {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.marks[tp]
}

func (c *checkpoints) cleanedTo(tp kafka.TopicPartition) kafka.Offset {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cleaned[tp]
}

func (c *checkpoints) recoveryPoint(tp kafka.TopicPartition) kafka.Offset {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recovery[tp]
}

// checkpoint writes a file if what the logs say now differs from what was written
// last. They are listed and asked under the lock of the checkpoints: no older
// answer overwrites a recovery point that fell in between, and none of a deleted
// log is written for its successor of the same name.
func (dir *directory) checkpoint(name string, of func(logs []*storage.Log) storage.Offsets) error {
	c := &dir.checkpoints
	c.mu.Lock()
	defer c.mu.Unlock()
	logs := dir.every()
	if dir.offline() != nil {
		return nil // what was written last stays for the next start
	}
	return c.write(name, of(logs))
}

// cleaned writes how far a log was compacted, unless it was deleted meanwhile.
func (dir *directory) cleaned(l *storage.Log, to kafka.Offset) error {
	return dir.checkpoint(CleanerFile, func(logs []*storage.Log) storage.Offsets {
		next := maps.Clone(dir.checkpoints.cleaned)
		if slices.Contains(logs, l) {
			next[l.TP()] = to
		}
		return next
	})
}

func (c *checkpoints) write(name string, now storage.Offsets) error {
	written := c.written(name)
	if maps.Equal(*written, now) {
		return nil
	}
	if err := storage.WriteOffsets(c.fs, filepath.Join(c.root, name), now); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	*written = now
	return nil
}

func (c *checkpoints) written(name string) *storage.Offsets {
	for _, f := range c.files() {
		if f.name == name {
			return f.offsets
		}
	}
	panic("no checkpoint is called " + name)
}

// set writes one entry.
func (c *checkpoints) set(name string, tp kafka.TopicPartition, to kafka.Offset) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := maps.Clone(*c.written(name))
	next[tp] = to
	return c.write(name, next)
}

// lower writes a smaller recovery point before the bytes above it go.
func (c *checkpoints) lower(tp kafka.TopicPartition, to kafka.Offset) error {
	c.mu.Lock()
	lower := c.recovery[tp] > to
	c.mu.Unlock()
	if !lower {
		return nil
	}
	return c.set(RecoveryPointFile, tp, to)
}

// forget makes all files ready for a new log of that name: what is said of an
// older one would take its records for synced, or cut them off.
func (c *checkpoints) forget(tp kafka.TopicPartition) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.files() {
		if _, there := (*f.offsets)[tp]; !there {
			continue
		}
		next := maps.Clone(*f.offsets)
		delete(next, tp)
		if err := c.write(f.name, next); err != nil {
			return err
		}
	}
	return nil
}
