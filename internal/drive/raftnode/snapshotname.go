package raftnode

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// Names of snapshots in the metadata directory:
//
//	<end offset, 20 digits>-<epoch, 10 digits>.checkpoint
//	....checkpoint.part      being written or downloaded
//	....checkpoint.deleted   to be removed
//	....checkpoint.damaged   set aside by a start; neither we nor Apache Kafka look at it
const (
	snapshotSuffix = ".checkpoint"
	partSuffix     = ".checkpoint.part"
	deletedSuffix  = ".checkpoint.deleted"
	damagedSuffix  = ".checkpoint.damaged"
)

func snapshotStem(id raft.SnapshotID) string {
	return fmt.Sprintf("%020d-%010d", id.EndOffset, id.Epoch)
}

func snapshotName(id raft.SnapshotID) string { return snapshotStem(id) + snapshotSuffix }

// parseSnapshotName tells the id a file name stands for.
func parseSnapshotName(name string) (raft.SnapshotID, bool) {
	stem, ok := strings.CutSuffix(name, snapshotSuffix)
	if !ok || len(stem) != 31 || stem[20] != '-' {
		return raft.SnapshotID{}, false
	}
	end, err := strconv.ParseUint(stem[:20], 10, 63)
	epoch, err2 := strconv.ParseUint(stem[21:], 10, 31)
	if err != nil || err2 != nil {
		return raft.SnapshotID{}, false
	}
	return raft.SnapshotID{EndOffset: kafka.Offset(end), Epoch: kafka.Epoch(epoch)}, true
}

// listSnapshots finds the finished snapshots, in order, and removes what an
// interrupted write, download or removal left behind.
func listSnapshots(fsys vfs.FS, dir string) ([]raft.Snapshot, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing snapshots: %w", err)
	}
	var all []raft.Snapshot
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), partSuffix) || strings.HasSuffix(e.Name(), deletedSuffix) {
			if err := fsys.Remove(filepath.Join(dir, e.Name())); err != nil {
				return nil, fmt.Errorf("removing a left-over: %w", err)
			}
			continue
		}
		id, ok := parseSnapshotName(e.Name())
		if !ok {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, fmt.Errorf("snapshot %s: %w", e.Name(), err)
		}
		all = append(all, raft.Snapshot{ID: id, Size: info.Size()})
	}
	slices.SortFunc(all, func(a, b raft.Snapshot) int {
		return strings.Compare(snapshotName(a.ID), snapshotName(b.ID))
	})
	return all, nil
}

// listAside gives the ids of the snapshots that were set aside as damaged.
func listAside(fsys vfs.FS, dir string) (ids []raft.SnapshotID, err error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing snapshots: %w", err)
	}
	for _, e := range entries {
		if stem, aside := strings.CutSuffix(e.Name(), damagedSuffix); aside {
			if id, ok := parseSnapshotName(stem + snapshotSuffix); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// removeSnapshot takes a snapshot out of sight, and then away.
func removeSnapshot(fsys vfs.FS, dir string, id raft.SnapshotID) error {
	hidden := filepath.Join(dir, snapshotStem(id)+deletedSuffix)
	err := fsys.Rename(filepath.Join(dir, snapshotName(id)), hidden)
	if err == nil {
		err = fsys.Remove(hidden)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing snapshot %s: %w", snapshotName(id), err)
	}
	return nil
}
