package raftnode

import (
	"fmt"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

// durableFile, in the folder of the metadata log, holds an offset below which
// the log is durable. It has the form of the checkpoint of the same name that
// lies in the root of a log directory.
const durableFile = "recovery-point-offset-checkpoint"

// durableNote is the content of durableFile. It lags behind, so that a sync of
// the log costs no second one: it is written with the first sync, when a segment
// has been rolled, from time to time, and at the end. The writer's goroutine
// owns it.
type durableNote struct {
	fs   vfs.FS
	name string
	// below is what the file says; 0: nothing. Invariant: the log is durable
	// below it.
	below   kafka.Offset
	segment kafka.Offset // the active one when the note was written
}

func readDurable(fsys vfs.FS, dir string) (*durableNote, error) {
	n := &durableNote{fs: fsys, name: filepath.Join(dir, durableFile)}
	all, err := storage.ReadOffsets(fsys, n.name)
	if err != nil {
		return nil, fmt.Errorf("reading how far the metadata log is durable: %w", err)
	}
	n.below = all[kafka.MetadataPartition]
	return n, nil
}

// synced looks at the log after a sync.
func (n *durableNote) synced(l *storage.Log) error {
	if n.below > 0 && l.ActiveSegment() <= n.segment {
		return nil
	}
	return n.raise(l)
}

// raise writes how far the log is durable now.
func (n *durableNote) raise(l *storage.Log) error {
	to := min(l.RecoveryPoint(), l.End()) // a cut inside a batch ends below the cut
	n.segment = l.ActiveSegment()
	if to <= n.below {
		return nil
	}
	return n.set(to)
}

// forget is called before records below the note go. A log that is cut inside a
// batch ends below the cut, so no smaller offset is noted instead.
func (n *durableNote) forget() error {
	if n.below == 0 {
		return nil
	}
	return n.set(0)
}

func (n *durableNote) set(to kafka.Offset) error {
	if err := storage.WriteOffsets(n.fs, n.name, storage.Offsets{kafka.MetadataPartition: to}); err != nil {
		return fmt.Errorf("noting how far the metadata log is durable: %w", err)
	}
	n.below = to
	return nil
}
