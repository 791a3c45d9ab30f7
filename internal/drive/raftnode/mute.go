package raftnode

import (
	"errors"
	"fmt"
	"math"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// A mute node is a controller without what came before its log. It does what others
// rely on: it votes by what it has promised and by how far its log goes, follows a
// leader, and acknowledges what it has made durable. It does not stand for election:
//
//  1. Of three controllers 1 and 2 have lost their snapshots, 3 has not.
//  2. Were 1 elected, it would have no state to go on from, and none to give to 2.
//  3. So 1 and 2 wait for 3 to stand, and vote for it.
//
// To its core it is a replica that is in no voter set: such a one votes like any other
// (KIP-853), copies, and never stands. So the voter set is taken out of all that the core
// is shown.

// mute is the configuration of such a node; fatal is told when it cannot go on.
func (c Config) mute(fatal func(error)) Config {
	c.muted = true
	c.Bootstrap, c.AutoJoin, c.Fatal = c.others(), false, fatal
	return c
}

// static are the voters that hold while the log has none, as the core is to see them.
func (c Config) static() raft.Voters {
	if c.muted {
		return c.Voters.Without(c.Self.Node)
	}
	return c.Voters
}

// inFile are the voters that quorum-state names, when the core sees these.
func (c Config) inFile(seen raft.Voters) raft.Voters {
	if c.muted {
		return c.Voters
	}
	return seen
}

// heard is an answer of a peer as the core is to see it.
func (c Config) heard(body raft.Body) raft.Body {
	if a, ok := body.(raft.FetchAnswer); ok && c.muted {
		a.Span.Voters = nil
		return a
	}
	return body
}

// openMute reads the metadata directory for a mute node, and changes nothing. Damaged
// are the snapshots that are to be set aside when there is a whole one.
func openMute(cfg Config) (_ *opened, damaged []damagedSnapshot, err error) {
	c, err := takeInventory(cfg)
	if err != nil {
		return nil, nil, err
	}
	stored, err := c.muted()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", cfg.Dir, err), c.log.Close())
	}
	return &opened{log: c.log, stored: stored, votes: c.votes}, c.found.damaged, nil
}

// muted is what the core of a mute node is to be told of the directory.
func (c *inventory) muted() (raft.Stored, error) {
	sp, err := scan(c.log)
	if err != nil {
		return raft.Stored{}, fmt.Errorf("replaying the metadata log: %w", err)
	}
	start, names := c.log.Start(), c.found.names()
	epoch, ok := epochBefore(names, start, c.known, sp.span.Epochs)
	if !ok {
		return raft.Stored{}, fmt.Errorf("%w, and nothing tells the epoch in which it ends; %s", ErrGap, replaceVoter)
	}
	// In the place of the lost one: for the position of a log without records, and
	// as what is known to be committed.
	before := raft.SnapshotID{EndOffset: start, Epoch: epoch}
	if id, ok := provenBy(names, sp.span); ok {
		before = id
	}
	return raft.Stored{
		Election: c.election, Forgotten: !c.elected || c.votes.there, LogStart: start, LogEnd: c.log.End(), Epochs: sp.span.Epochs,
		Snapshots: []raft.Snapshot{{ID: before}},
		Levels:    append([]raft.At[int16]{{Offset: start - 1, Value: c.level}}, sp.span.Levels...),
	}, nil
}

// provenBy is the newest of the snapshots whose last record is in the log. All below its
// end was committed, so this node lets no leader cut it off:
//
//  1. Snapshots of all three controllers are damaged, and 1 and 2 have the same
//     committed records behind the start of their logs.
//  2. 3 has lost them with its disk, and leads by a fault of whoever started it so.
//  3. It has 1 and 2 cut their logs, and nobody has the records any more.
//
// One whose last record is not there, or of another epoch, says nothing of this log: it
// was to take its place.
func provenBy(names []raft.SnapshotID, log raft.Span) (newest raft.SnapshotID, ok bool) {
	for _, id := range names {
		if id.EndOffset > log.Base && id.EndOffset <= log.End && epochAt(log.Epochs, id.EndOffset-1) == id.Epoch && id.EndOffset > newest.EndOffset {
			newest, ok = id, true
		}
	}
	return newest, ok
}

// epochAt is the epoch of a record of a log.
func epochAt(log []raft.EpochStart, offset kafka.Offset) kafka.Epoch {
	epoch := kafka.NoEpoch
	for _, e := range log {
		if e.Start <= offset {
			epoch = e.Epoch
		}
	}
	return epoch
}

// epochBefore is the epoch of the last record before the log, or a higher one. If all
// that is in the log is cut off, this node votes for nobody whose log may be shorter
// than its own was. A snapshot that ends there has the epoch in its name, whatever is
// damaged in it. Else epochs do not fall, and each is in the election state before there
// is a record of it.
func epochBefore(names []raft.SnapshotID, start kafka.Offset, known kafka.Epoch, log []raft.EpochStart) (kafka.Epoch, bool) {
	most := known
	if len(log) > 0 {
		most = min(most, log[0].Epoch)
	}
	for _, id := range names {
		if id.EndOffset == start && id.Epoch <= most {
			return id.Epoch, true
		}
	}
	return most, most < math.MaxInt32
}
