package raftnode

import (
	"fmt"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/edge/storage"
)

// durableFile, in the folder of the metadata log, holds an offset below which
// the log is durable. It has the form of the checkpoint of the same name that
// lies in the root of a log directory.
const durableFile = "recovery-point-offset-checkpoint"

// durableNote is what the folder of the metadata log says of how far the log is
// durable. No record below it is ever cut off by a start, so it has to reach as
// far as what was acknowledged, and costs no sync of its own for that:
//
//   - metarec.DurableMarkFile follows each sync, before anybody hears of that. It is exact
//     after a process was killed. Of a loss of power it may lag behind by what the
//     system has not written back yet.
//   - durableFile is durable itself: it is written with the first sync, when a
//     segment has been rolled, from time to time, and at the end.
//
// The writer's goroutine owns it.
type durableNote struct {
	fs   vfs.FS
	name string
	// below is the higher one of what the two files say; 0: nothing. Invariant:
	// the log is durable below it.
	below   kafka.Offset
	saved   kafka.Offset // what durableFile says
	mark    durableMark
	found   mark         // what the mark said at the start
	unread  error        // why it could not be read then
	foreign bool         // see recut
	segment kafka.Offset // the active one when durableFile was written
}

func readDurable(fsys vfs.FS, dir string) (*durableNote, error) {
	n := &durableNote{fs: fsys, name: filepath.Join(dir, durableFile), mark: markOf(fsys, dir)}
	all, err := storage.ReadOffsets(fsys, n.name)
	if err != nil {
		return nil, fmt.Errorf("reading how far the metadata log is durable: %w", err)
	}
	if n.found, n.unread, err = n.mark.read(); err != nil {
		return nil, err
	}
	n.saved = all[kafka.MetadataPartition]
	n.below = max(n.saved, n.found.below)
	return n, nil
}

// recut looks whether the log was cut below the mark by another process, which does not
// know of it: Apache Kafka, or an older release. That is so when a record below the
// mark is of a later epoch than all that stood there. We ourselves take the mark back
// before we cut. What stands before that record is at least as old, and whoever wrote
// the record has taken it for whole.
func (n *durableNote) recut(log []raft.EpochStart) {
	for _, e := range log {
		if n.found.epoch >= 0 && e.Epoch > n.found.epoch && e.Start < n.found.below {
			n.below, n.foreign = e.Start, true
			return
		}
	}
}

// settle makes the files say what holds for a log that was opened, and so is whole.
func (n *durableNote) settle(l *storage.Log) error {
	if !n.foreign && n.unread == nil {
		return nil
	}
	n.below = durable(l)
	if n.saved > n.below { // the mark shows why until this is done
		if err := n.save(n.below); err != nil {
			return err
		}
	}
	if err := n.mark.set(mark{n.below, l.LastEpoch()}, true); err != nil {
		return err
	}
	return n.mark.fit()
}

// durable is how far a log is durable now; a cut inside a batch ends below the
// cut.
func durable(l *storage.Log) kafka.Offset { return min(l.RecoveryPoint(), l.End()) }

// synced looks at the log after a sync.
func (n *durableNote) synced(l *storage.Log) error {
	if to := durable(l); to > n.below {
		if err := n.mark.set(mark{to, l.LastEpoch()}, false); err != nil {
			return err
		}
		n.below = to
	}
	if n.saved > 0 && l.ActiveSegment() <= n.segment {
		return nil
	}
	return n.raise(l)
}

// raise saves how far the log is durable now.
func (n *durableNote) raise(l *storage.Log) error {
	to := durable(l)
	n.segment = l.ActiveSegment()
	if to <= n.saved {
		return nil
	}
	return n.save(to)
}

// cutting is called before records from end on go, and takes back what would say
// then that they are there. A log that is cut inside a batch ends below the cut,
// so no smaller offset is noted instead.
func (n *durableNote) cutting(end kafka.Offset) error {
	if end < n.below {
		if err := n.mark.set(noMark, true); err != nil {
			return err
		}
		n.below = n.saved
	}
	if end >= n.saved {
		return nil
	}
	n.below = 0
	return n.save(0)
}

func (n *durableNote) save(to kafka.Offset) error {
	if err := storage.WriteOffsets(n.fs, n.name, storage.Offsets{kafka.MetadataPartition: to}); err != nil {
		return fmt.Errorf("noting how far the metadata log is durable: %w", err)
	}
	n.saved, n.below = to, max(n.below, to)
	return nil
}
