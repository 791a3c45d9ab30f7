package raftnode

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
	"github.com/ottla/ottla/internal/edge/storage"
)

// maxEpochFile bounds leader-epoch-checkpoint: a line for each epoch.
const maxEpochFile = 64 << 20

// contradictedEpoch holds the epochs that the batches of a log say against the
// file leader-epoch-checkpoint beside it. That may lag, or name epochs that were
// cut away, and storage builds it again when it cannot be read. But an epoch
// begins once, at one offset, whatever happens to a log: if both know where and do
// not agree, then a batch before or behind the true place is of another epoch than
// it says.
func contradictedEpoch(fsys vfs.FS, dir string, log raft.Span) (*damage, error) {
	text, err := vfs.ReadFile(fsys, filepath.Join(dir, storage.EpochFile), maxEpochFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the epochs of the metadata log: %w", err)
	}
	noted, err := storage.ReadEpochs(text)
	if err != nil {
		return nil, nil // it is built again from the log
	}
	by := make(map[kafka.Epoch]epochBegin, len(noted))
	for i, e := range noted {
		by[e.Epoch] = epochBegin{e.Start, i > 0}
	}
	for i, e := range log.Epochs {
		if at, known := by[e.Epoch]; known && !at.agrees(epochBegin{e.Start, i > 0}) {
			return &damage{file: storage.EpochFile, offset: min(at.offset, e.Start),
				why: fmt.Errorf("%w, but leader epoch %d begins at offset %d by this file and at %d by the log", errContradicts, e.Epoch, at.offset, e.Start)}, nil
		}
	}
	return nil, nil
}

// epochBegin is where an epoch begins, exactly, or there at the latest: of the
// first one that is known the beginning may have been cleaned away.
type epochBegin struct {
	offset kafka.Offset
	exact  bool
}

// agrees tells whether there is an offset that both can mean.
func (a epochBegin) agrees(b epochBegin) bool {
	switch {
	case a.exact && b.exact:
		return a.offset == b.offset
	case a.exact:
		return a.offset <= b.offset
	case b.exact:
		return b.offset <= a.offset
	}
	return true
}
