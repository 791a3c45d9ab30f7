package raftnode

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// scanBytes is how much of the log is read at a time when it is walked.
const scanBytes = 1 << 20

// opened is the metadata directory at the start of a node.
type opened struct {
	log    Log
	stored raft.Stored
}

// openDir reads the metadata directory: snapshots, log and election state. What
// an interrupted download or cleaning left half done is finished.
func openDir(cfg Config) (_ *opened, err error) {
	if err := vfs.MkdirAllSync(cfg.FS, cfg.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the metadata directory: %w", err)
	}
	snapshots, err := listSnapshots(cfg.FS, cfg.Dir)
	if err != nil {
		return nil, err
	}
	log, err := cfg.openLog()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, log.Close())
		}
	}()
	if snapshots, err = reconcile(cfg, log, snapshots); err != nil {
		return nil, err
	}
	o := &opened{log: log, stored: raft.Stored{LogStart: log.Start(), LogEnd: log.End(), Snapshots: snapshots}}
	if err := o.replay(cfg); err != nil {
		return nil, err
	}
	return o, o.elected(cfg)
}

// reconcile makes log and snapshots fit each other.
func reconcile(cfg Config, log Log, snapshots []raft.Snapshot) ([]raft.Snapshot, error) {
	if n := len(snapshots); n > 0 {
		if err := follow(log, snapshots[n-1].ID); err != nil {
			return nil, fmt.Errorf("beginning the log at snapshot %s: %w", snapshotName(snapshots[n-1].ID), err)
		}
	}
	var kept []raft.Snapshot
	for _, s := range snapshots {
		if s.ID.EndOffset >= log.Start() {
			kept = append(kept, s)
			continue
		}
		if err := removeSnapshot(cfg.FS, cfg.Dir, s.ID); err != nil {
			return nil, err
		}
	}
	if log.Start() > 0 && len(kept) == 0 {
		return nil, fmt.Errorf("%s: the log starts at offset %d and no snapshot holds what came before", cfg.Dir, log.Start())
	}
	return kept, nil
}

// follow finishes the installation of a snapshot that was stopped between its
// download and the cut of the log. The log then lacks the last record that the
// snapshot stands for: it ends before, or it holds one of another epoch there,
// which a leader that was cut off once wrote for nobody.
func follow(log Log, latest raft.SnapshotID) error {
	if latest.EndOffset <= log.Start() {
		return nil
	}
	if latest.EndOffset <= log.End() {
		raw, err := log.Read(nil, latest.EndOffset-1, log.End(), 1)
		if err != nil {
			return err
		}
		h, err := batch.ParseHeader(raw)
		if err != nil || h.LeaderEpoch == latest.Epoch {
			return err
		}
	}
	return log.StartAt(latest.EndOffset)
}

// replay reads the histories of voters and of kraft.version, from the latest
// snapshot and what follows it, and the epochs of the whole log.
func (o *opened) replay(cfg Config) error {
	st := &o.stored
	from := kafka.Offset(-1)
	if n := len(st.Snapshots); n > 0 {
		latest := st.Snapshots[n-1].ID
		r, err := openSnapshot(cfg.FS, filepath.Join(cfg.Dir, snapshotName(latest)), latest)
		if err != nil {
			return err
		}
		st.Voters, st.Levels = r.histories()
		from = latest.EndOffset - 1
	}
	span, err := scan(o.log)
	if err != nil {
		return fmt.Errorf("replaying the metadata log: %w", err)
	}
	st.Epochs = span.Epochs
	for _, v := range span.Voters {
		if v.Offset > from {
			st.Voters = append(st.Voters, v)
		}
	}
	for _, v := range span.Levels {
		if v.Offset > from {
			st.Levels = append(st.Levels, v)
		}
	}
	return nil
}

// scan describes the whole log.
func scan(log Log) (raft.Span, error) {
	var sp spanner
	var buf []byte
	at, end := log.Start(), log.End()
	for at < end {
		var err error
		if buf, err = log.Read(buf[:0], at, end, scanBytes); err != nil {
			return sp.span, err
		}
		before := at
		for _, b := range batch.All(buf) {
			if _, err := sp.next(b); err != nil {
				return sp.span, err
			}
			at = sp.span.End
		}
		if at == before {
			return sp.span, fmt.Errorf("nothing can be read at offset %d of %d", at, end)
		}
	}
	if n := len(sp.span.Epochs); n > 0 && sp.span.Epochs[0].Start < log.Start() {
		sp.span.Epochs[0].Start = log.Start() // a start inside a batch
	}
	return sp.span, nil
}

func (o *opened) elected(cfg Config) error {
	e, exists, err := loadElection(cfg.FS, cfg.Dir)
	if err != nil {
		return err
	}
	o.stored.Election = e
	o.stored.Forgotten = !exists && o.stored.LogEnd > 0
	return nil
}
