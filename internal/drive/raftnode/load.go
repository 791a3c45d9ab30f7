package raftnode

import (
	"errors"
	"fmt"
	"math"

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
	votes  *votesMark
}

// openDir reads the metadata directory: snapshots, log and election state. What
// an interrupted download or cleaning left half done is finished. Nothing is cut
// or removed before the snapshot that it is cut for was read whole.
func openDir(cfg Config) (*opened, error) {
	if err := cfg.lostFolder(); err != nil {
		return nil, err
	}
	if err := vfs.MkdirAllSync(cfg.FS, cfg.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the metadata directory: %w", err)
	}
	c, err := takeInventory(cfg)
	if err != nil {
		return nil, err
	}
	o := &opened{log: c.log, votes: c.votes}
	if err := o.load(cfg, c.found); err != nil {
		return nil, errors.Join(err, c.log.Close())
	}
	o.stored.Election = c.election
	o.stored.Forgotten = o.stored.LogEnd > 0 && !c.elected || c.votes.there
	return o, nil
}

// inventory is what lies in the metadata directory, as it is.
type inventory struct {
	election raft.Election
	elected  bool // there is an election state
	votes    *votesMark
	level    int16       // of kraft.version, by the form of the election state
	known    kafka.Epoch // nothing here is of an epoch above
	found    examined
	log      Log
}

func takeInventory(cfg Config) (*inventory, error) {
	c := &inventory{known: math.MaxInt32}
	var err error
	if c.election, c.level, c.elected, err = loadElection(cfg.FS, cfg.Dir); err != nil {
		return nil, err
	}
	if c.votes, err = readVotesMark(cfg.FS, cfg.Dir); err != nil {
		return nil, err
	}
	if c.elected {
		c.known = c.election.Epoch
	}
	if c.found, err = examine(cfg, c.known); err != nil {
		return nil, err
	}
	if c.log, err = cfg.openLog(c.known); err != nil {
		return nil, err
	}
	return c, nil
}

// load reads what the quorum has to know from snapshots and log, after it has
// made them fit each other.
func (o *opened) load(cfg Config, found examined) error {
	if err := found.settle(cfg, o.log); err != nil {
		return err
	}
	snapshots, err := reconcile(cfg, o.log, found)
	if err != nil {
		return err
	}
	o.stored = raft.Stored{LogStart: o.log.Start(), LogEnd: o.log.End(), Snapshots: snapshots}
	return o.replay(found.latest)
}

// reconcile makes log and snapshots fit each other.
func reconcile(cfg Config, log Log, found examined) ([]raft.Snapshot, error) {
	if found.latest != nil {
		if err := follow(log, found.latest.ID()); err != nil {
			return nil, fmt.Errorf("beginning the log at snapshot %s: %w", snapshotName(found.latest.ID()), err)
		}
	}
	var kept []raft.Snapshot
	for _, s := range found.sound {
		if s.ID.EndOffset >= log.Start() {
			kept = append(kept, s)
			continue
		}
		if err := removeSnapshot(cfg.FS, cfg.Dir, s.ID); err != nil {
			return nil, err
		}
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
func (o *opened) replay(latest *SnapshotReader) error {
	st := &o.stored
	from := kafka.Offset(-1)
	if latest != nil {
		st.Voters, st.Levels = latest.histories()
		from = latest.ID().EndOffset - 1
	}
	sp, err := scan(o.log)
	if err != nil {
		return fmt.Errorf("replaying the metadata log: %w", err)
	}
	st.Epochs = sp.span.Epochs
	for _, v := range sp.span.Voters {
		if v.Offset > from {
			st.Voters = append(st.Voters, v)
		}
	}
	for _, v := range sp.span.Levels {
		if v.Offset > from {
			st.Levels = append(st.Levels, v)
		}
	}
	return nil
}

// scan describes the whole log. Its epochs were held against the election state
// when it was opened.
func scan(log Log) (spanner, error) {
	sp := newSpanner(math.MaxInt32)
	var buf []byte
	at, end := log.Start(), log.End()
	for at < end {
		var err error
		if buf, err = log.Read(buf[:0], at, end, scanBytes); err != nil {
			return sp, err
		}
		before := at
		for _, b := range batch.All(buf) {
			if _, err := sp.next(b); err != nil {
				return sp, err
			}
			at = sp.span.End
		}
		if at == before {
			return sp, fmt.Errorf("nothing can be read at offset %d of %d", at, end)
		}
	}
	if n := len(sp.span.Epochs); n > 0 && sp.span.Epochs[0].Start < log.Start() {
		sp.span.Epochs[0].Start = log.Start() // a start inside a batch
	}
	return sp, nil
}
