package raftnode

import (
	"errors"

	"github.com/ottla/ottla/internal/base/kerr"
)

// What Append and CreateSnapshot answer with, besides failures of the disk.
var (
	// ErrNotLeader: the node does not lead the epoch that was named.
	ErrNotLeader error = kerr.NotLeaderOrFollower
	// ErrTooBusy: the disk is behind by more than maxUnsynced bytes or the
	// inbox is full; try again later.
	ErrTooBusy = errors.New("metadata log is too busy")
	// ErrTooLarge: the records do not fit into one batch.
	ErrTooLarge = errors.New("records do not fit into one metadata batch")
	// ErrStopped: the node was stopped.
	ErrStopped = errors.New("quorum node is stopped")
	// ErrUnsupportedVersion is what a Sender wraps when a peer knows no version
	// of a request that could carry what it says.
	ErrUnsupportedVersion = errors.New("no common version")
)

var errNoPeers = errors.New("no way to reach peers")
