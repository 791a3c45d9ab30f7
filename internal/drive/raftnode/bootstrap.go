package raftnode

import (
	"fmt"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// bootstrapName is the file in which versions before 4.4 kept what is written
// to a new log first.
const bootstrapName = "bootstrap.checkpoint"

// ReadBootstrap reads the framed records that the first leader of a new cluster
// writes: from the checkpoint 0-0 of the metadata directory (KIP-1170), else
// from bootstrap.checkpoint in the log directory around it. There are none,
// without error, when the folder was formatted with neither.
func ReadBootstrap(fsys vfs.FS, dir string) ([][]byte, error) {
	for _, name := range []string{
		filepath.Join(dir, snapshotName(raft.SnapshotID{})),
		filepath.Join(filepath.Dir(dir), bootstrapName),
	} {
		exists, err := vfs.Exists(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("looking for bootstrap records: %w", err)
		}
		if !exists {
			continue
		}
		records, err := readAll(fsys, name)
		if err != nil || len(records) > 0 {
			return records, err
		}
	}
	return nil, nil
}

// Bootstrap is ReadBootstrap of this node's directory.
func (n *Node) Bootstrap() ([][]byte, error) { return ReadBootstrap(n.cfg.FS, n.cfg.Dir) }

func readAll(fsys vfs.FS, name string) ([][]byte, error) {
	r, err := openSnapshot(fsys, name, raft.SnapshotID{})
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for records, err := range r.Batches() {
		if err != nil {
			return nil, err
		}
		for _, one := range records {
			all = append(all, append([]byte(nil), one...))
		}
	}
	return all, nil
}
