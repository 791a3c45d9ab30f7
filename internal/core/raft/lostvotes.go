package raft

import "github.com/ottla/ottla/internal/base/kafka"

// lostVotes keeps a node whose quorum-state file is gone from voting twice in an
// epoch, for others or for itself. Apache Kafka does not go so far. The node votes
// for nobody in the epoch that it has and in the next one that it comes to,
// whether a peer has it or it stands itself:
//
//  1. Of three voters 3 leads epoch 4, and dies. 1 stands in epoch 5, and 2 votes
//     for it. 1 leads epoch 5, and is cut off.
//  2. 2 loses the file, and its log ends in epoch 4.
//  3. 3 comes back. Neither may 2 vote for 3 in epoch 5, nor may it ask for the
//     vote of 3 there.
//
// To have followed a leader of epoch 4 meanwhile changes nothing about that.
//
// What it has voted in farther away, in rounds that brought no leader which it
// followed, it cannot know.
type lostVotes struct {
	upTo    kafka.Epoch // grants nothing up to here; -1 for none
	seeking bool        // no later epoch than at the start has been met yet
}

var noLostVotes = lostVotes{upTo: kafka.NoEpoch}

// found notes an epoch that this node comes to.
func (l *lostVotes) found(epoch kafka.Epoch) {
	if l.seeking {
		l.upTo, l.seeking = max(l.upTo, epoch), false
	}
}

// none tells whether all votes given in an epoch are known.
func (l *lostVotes) none(epoch kafka.Epoch) bool { return epoch > l.upTo }

// stride is how far the epoch of a candidacy is from the one before.
func (l *lostVotes) stride() kafka.Epoch {
	if l.seeking {
		return 2
	}
	return 1
}

// last tells whether there is a vote that may be given and is refused for what was
// lost. In an epoch with a leader nobody else gets one anyway.
func (l *lostVotes) last(e Election) bool {
	return l.seeking || !l.none(e.Epoch) && e.Leader < 0
}
