package raftnode

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// examined is the snapshots of a metadata directory at the start of a node.
type examined struct {
	// latest is the newest one that is whole; nil when there is none.
	latest *SnapshotReader
	// sound are latest and what is older than it, in order. Only latest was read.
	sound []raft.Snapshot
	// damaged are those newer than latest, newest first.
	damaged []damagedSnapshot
	// aside are those that were set aside as damaged before. What their names say
	// still holds.
	aside []raft.SnapshotID
}

type damagedSnapshot struct {
	id  raft.SnapshotID
	why error
}

// examine reads snapshots whole, newest first, until it finds one that can be
// relied on, and changes nothing. One of an epoch above the one that this node
// knows of by its election state stops the start: one of the two is wrong.
func examine(cfg Config, known kafka.Epoch) (examined, error) {
	all, err := listSnapshots(cfg.FS, cfg.Dir)
	var found examined
	for n := len(all); n > 0 && err == nil && found.latest == nil; n-- {
		id := all[n-1].ID
		name := filepath.Join(cfg.Dir, snapshotName(id))
		r, damage, failed := verifySnapshot(cfg.FS, name, id)
		switch {
		case failed != nil:
			err = failed
		case damage != nil:
			found.damaged = append(found.damaged, damagedSnapshot{id, damage})
		case id.Epoch > known:
			err = fmt.Errorf("%s is of epoch %d, and by %s this node has seen none above %d; if it was copied here, take one of an earlier epoch; else %s", name, id.Epoch, quorumStateName, known, cfg.wayOut())
		default:
			found.latest, found.sound = r, all[:n]
		}
	}
	if err == nil {
		found.aside, err = listAside(cfg.FS, cfg.Dir)
	}
	return found, err
}

// names are the ids of the snapshots that are damaged. Whatever is wrong in them, what
// comes before the end of each was committed, the last of it in its epoch.
func (e examined) names() []raft.SnapshotID {
	ids := slices.Clone(e.aside)
	for _, d := range e.damaged {
		ids = append(ids, d.id)
	}
	return ids
}

// settle decides what becomes of a directory with damaged snapshots. If the log
// goes back to the one before, that and the log say all that they said. If not,
// part of what this node had is gone:
//
//   - A node that never votes begins with the snapshot before or with nothing;
//     the leader sends it the rest.
//   - A controller may be a voter, on which others rely for what it has
//     acknowledged. It votes, and does no more before it has a leader's snapshot
//     (Refill).
//
// Damaged snapshots get a name under which nobody takes them for one.
func (e examined) settle(cfg Config, log Log) error {
	reaches := e.latest != nil && e.latest.ID().EndOffset >= log.Start() || log.Start() == 0
	switch {
	case !reaches && cfg.Controller:
		return e.hole(cfg, log)
	case len(e.damaged) > 0 && e.latest == nil && log.Start() == 0 && cfg.Controller:
		if err := e.formatLost(cfg, log); err != nil {
			return err
		}
	}
	for _, d := range e.damaged {
		todo := "the one before it and the log are used"
		if !reaches {
			todo = "the leader's is fetched"
		}
		cfg.Log.Error("a snapshot is damaged and is set aside; "+todo, "snapshot", filepath.Join(cfg.Dir, snapshotName(d.id)),
			"now", snapshotStem(d.id)+damagedSuffix, "err", d.why)
		if err := setAside(cfg, d.id); err != nil {
			return err
		}
	}
	if reaches {
		return nil
	}
	cfg.Log.Warn("no snapshot holds what came before the start of the metadata log; all of it is fetched again", "dir", cfg.Dir, "start", log.Start())
	if err := log.StartAt(0); err != nil {
		return fmt.Errorf("beginning the metadata log anew: %w", err)
	}
	return nil
}

// hole is the refusal of a controller that lacks what came before its log.
func (e examined) hole(cfg Config, log Log) error {
	if len(e.damaged) == 0 {
		return fmt.Errorf("%s: %w, which starts at offset %d; %s", cfg.Dir, ErrGap, log.Start(), cfg.wayOut())
	}
	d := e.damaged[0]
	return fmt.Errorf("%s is damaged (%w), and %w, which starts at offset %d; %s",
		filepath.Join(cfg.Dir, snapshotName(d.id)), d.why, ErrGap, log.Start(), cfg.wayOut())
}

// formatLost is about a damaged checkpoint of format time. It may go once the log
// has the records that it holds for the first leader.
func (e examined) formatLost(cfg Config, log Log) error {
	written, err := scan(log)
	if err != nil {
		return fmt.Errorf("replaying the metadata log: %w", err)
	}
	if written.data {
		return nil
	}
	d := e.damaged[len(e.damaged)-1]
	return fmt.Errorf("%s is damaged (%w), and what it holds for a new cluster is not in the log yet; %s",
		filepath.Join(cfg.Dir, snapshotName(d.id)), d.why, cfg.wayOut())
}

// setAside takes a damaged snapshot out of sight and leaves it to people.
func setAside(cfg Config, id raft.SnapshotID) error {
	from, to := filepath.Join(cfg.Dir, snapshotName(id)), filepath.Join(cfg.Dir, snapshotStem(id)+damagedSuffix)
	err := cfg.FS.Rename(from, to)
	if err == nil {
		err = cfg.FS.SyncDir(cfg.Dir)
	}
	if err != nil {
		return fmt.Errorf("setting a damaged snapshot aside: %w", err)
	}
	return nil
}

// wayOut is what the operator of a node can do whose directory has lost something.
func (c Config) wayOut() string {
	if c.Controller {
		return replaceVoter
	}
	return refetchAll
}
