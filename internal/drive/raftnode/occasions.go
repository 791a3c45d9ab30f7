package raftnode

import (
	"sync/atomic"

	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// occasion is something that a quorum at rest never does, and that this node counts:
// the uses of what better.md of the design calls B1 to B6.
type occasion int

const (
	askedForPreVotes occasion = iota
	stoodForElection
	steppedDown
	repeatedFetch
	sawLeaderDie
	insistedOnRound
	roundPreceded
	roundYielded
	heardFarewell
	longerLogStood
	occasionCount
)

// occasionsOf names each for the metric, and gives what the core's trace calls it;
// "" is one that shows in a message.
var occasionsOf = [occasionCount]struct{ name, trace string }{
	askedForPreVotes: {"asked_for_pre_votes", string(raft.RoleProspective)},
	stoodForElection: {"stood_for_election", string(raft.RoleCandidate)},
	steppedDown:      {"stepped_down", string(raft.RoleResigned)},   // B1: then it keeps its epoch
	repeatedFetch:    {"repeated_fetch", ""},                        // B2
	sawLeaderDie:     {"leader_died", "leader died"},                // B3
	insistedOnRound:  {"insisted_on_round", "insists on its round"}, // B3
	roundPreceded:    {"round_preceded", "own round precedes"},      // B4
	roundYielded:     {"round_yielded", "yields"},                   // B4
	heardFarewell:    {"heard_farewell", ""},                        // B5
	longerLogStood:   {"longer_log_stood", "longer log stands"},     // B6
}

// occasions are counted by the loop and read by anyone.
type occasions [occasionCount]atomic.Uint64

func (o *occasions) count(which occasion) { o[which].Add(1) }

// traced counts what a step of the core was about.
func (o *occasions) traced(what string) {
	for which := range occasionCount {
		if occasionsOf[which].trace == what {
			o.count(which)
		}
	}
}

// sent counts what a message shows: a fetch that goes out again on a new connection, and
// the answer to a leader's farewell.
func (o *occasions) sent(m raft.Message) {
	switch b := m.Body.(type) {
	case raft.FetchRequest:
		if m.Fresh {
			o.count(repeatedFetch)
		}
	case raft.EndAnswer:
		if b.Err == kerr.None {
			o.count(heardFarewell)
		}
	}
}

func (o *occasions) read() (counts [occasionCount]uint64) {
	for which := range o {
		counts[which] = o[which].Load()
	}
	return counts
}
