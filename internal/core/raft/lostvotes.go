package raft

import "github.com/ottla/ottla/internal/base/kafka"

// lostVotes keeps a node whose quorum-state file is gone from voting twice in
// an epoch. It grants nothing in the epoch it had, nor in the first one it
// finds among its peers before it has caught up with a leader. Apache Kafka
// does not go so far.
type lostVotes struct {
	upTo    kafka.Epoch // grants nothing up to here; -1 for none
	seeking bool        // no epoch of a peer, and no leader, has been met yet
}

var noLostVotes = lostVotes{upTo: kafka.NoEpoch}

// found notes an epoch of a peer.
func (l *lostVotes) found(epoch kafka.Epoch) {
	if l.seeking {
		l.upTo, l.seeking = max(l.upTo, epoch), false
	}
}

// none tells whether all votes given in an epoch are known.
func (l *lostVotes) none(epoch kafka.Epoch) bool { return epoch > l.upTo }
