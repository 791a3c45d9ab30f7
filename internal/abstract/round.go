package abstract

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// round is one round of asking for votes, among the voters at its start.
type round struct {
	voters  []Voter
	ballots []ballot
}

type ballot struct {
	node    kafka.NodeID
	granted bool
}

// ask begins a round. Our own vote is granted, if we have one.
func (s State) ask() State {
	s.round = round{voters: s.Voters}
	if s.member() {
		s.round = s.round.with(s.self.Node, true)
	}
	return s
}

// with counts an answer; a later one of the same voter replaces it.
func (r round) with(node kafka.NodeID, granted bool) round {
	if _, ok := find(r.voters, node); !ok {
		return r
	}
	r.ballots = slices.DeleteFunc(slices.Clone(r.ballots), func(b ballot) bool { return b.node == node })
	r.ballots = append(r.ballots, ballot{node, granted})
	return r
}

func (r round) grants() (n int) {
	for _, b := range r.ballots {
		if b.granted {
			n++
		}
	}
	return n
}

func (r round) answered(node kafka.NodeID) bool {
	return slices.ContainsFunc(r.ballots, func(b ballot) bool { return b.node == node })
}

func (r round) won() bool { return r.grants() >= majority(len(r.voters)) }

func (r round) refusedBy(node kafka.NodeID) bool {
	return slices.Contains(r.ballots, ballot{node, false})
}

// lost: a majority cannot be reached any more.
func (r round) lost() bool {
	return r.grants()+len(r.voters)-len(r.ballots) < majority(len(r.voters))
}
