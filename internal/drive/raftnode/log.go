package raftnode

import (
	"log/slog"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Log is the metadata log on disk. The writer's goroutine changes it; reads
// and getters may run beside it.
type Log interface {
	Start() kafka.Offset
	End() kafka.Offset
	// Append writes whole batches back to back. They carry their offsets and
	// epochs, and continue the log.
	Append(batches []byte) error
	// Read appends whole batches to dst: the one that holds from and what
	// follows, below an offset, at most maxBytes of them but at least one.
	Read(dst []byte, from, below kafka.Offset, maxBytes int) ([]byte, error)
	TruncateTo(end kafka.Offset) error
	// StartAt drops everything: the log is empty and begins at an offset.
	StartAt(offset kafka.Offset) error
	// DropBelow moves the start and removes whole segments below it.
	DropBelow(start kafka.Offset) error
	// Sync makes everything written durable and tells how far that is.
	Sync() (kafka.Offset, error)
	Size() int64 // bytes
	// Tick does what is due from time to time, such as removing files.
	Tick() error
	Close() error
}

// LogOptions say how to open a Log.
type LogOptions struct {
	FS           vfs.FS
	Dir          string
	SegmentBytes int
	SegmentAge   time.Duration
	// MaxEpoch is the highest epoch that a record can be of: every epoch is durable
	// in the election state before there is a record of it.
	MaxEpoch kafka.Epoch
	// Promised: others may rely on what this node has synced, as they do on a
	// voter.
	Promised bool
	// Log gets what was found and repaired; nil discards.
	Log *slog.Logger
}
