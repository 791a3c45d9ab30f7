package raftnode

import (
	"path/filepath"

	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// folder is the metadata directory.
type folder struct {
	fs  vfs.FS
	dir string
}

// path is where a snapshot lies.
func (f folder) path(id raft.SnapshotID) string { return filepath.Join(f.dir, snapshotName(id)) }

func (f folder) open(id raft.SnapshotID) (*SnapshotReader, error) {
	return openSnapshot(f.fs, f.path(id), id)
}
