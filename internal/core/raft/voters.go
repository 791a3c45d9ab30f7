package raft

import (
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Endpoint is an address under the name of a listener. Listener names are
// upper case.
type Endpoint struct {
	Name string
	Host string
	Port uint16
}

// Endpoints are the addresses of one node, its default listener first.
type Endpoints []Endpoint

// Named gives the address of a listener.
func (e Endpoints) Named(listener string) (Endpoint, bool) {
	i := slices.IndexFunc(e, func(p Endpoint) bool { return p.Name == listener })
	if i < 0 {
		return Endpoint{}, false
	}
	return e[i], true
}

// reach tells whether an address is one of these, whatever its listener.
func (e Endpoints) reach(at Endpoint) bool {
	return slices.ContainsFunc(e, func(p Endpoint) bool { return p.Host == at.Host && p.Port == at.Port })
}

// Voter is an entry of a voter set. A static voter has no directory id and the
// range 0..0; its key then matches every directory of that node.
type Voter struct {
	Key       kafka.ReplicaKey
	Endpoints Endpoints
	// MinLevel and MaxLevel are the kraft.version levels it supports.
	MinLevel, MaxLevel int16
}

func (v Voter) equal(o Voter) bool {
	return v.Key == o.Key && v.MinLevel == o.MinLevel && v.MaxLevel == o.MaxLevel &&
		slices.Equal(v.Endpoints, o.Endpoints)
}

// Voters is a voter set, in order of node ids, each id once. It is a value:
// nobody changes a set that has been handed out.
type Voters []Voter

// NewVoters makes a set; of two entries with one id the later one stays.
func NewVoters(all ...Voter) Voters {
	set := make(Voters, 0, len(all))
	for _, v := range all {
		set = set.With(v)
	}
	return set
}

// Node finds the entry of a node id, whatever its directory.
func (s Voters) Node(id kafka.NodeID) (Voter, bool) {
	i, found := s.search(id)
	if !found {
		return Voter{}, false
	}
	return s[i], true
}

// Contains tells whether a replica is a member: ids match, and the entry has
// no directory id or the same one.
func (s Voters) Contains(key kafka.ReplicaKey) bool {
	i, found := s.search(key.Node)
	return found && s[i].Key.Matches(key)
}

// Majority is the number of members that decide: floor(n/2)+1.
func (s Voters) Majority() int { return len(s)/2 + 1 }

// With gives the set in which v takes the place of its node id's entry.
func (s Voters) With(v Voter) Voters {
	i, found := s.search(v.Key.Node)
	if found {
		out := slices.Clone(s)
		out[i] = v
		return out
	}
	return slices.Insert(slices.Clone(s), i, v)
}

// Without gives the set that lacks a node id's entry.
func (s Voters) Without(id kafka.NodeID) Voters {
	out := slices.Clone(s)
	if i, found := s.search(id); found {
		out = slices.Delete(out, i, i+1)
	}
	return out
}

// search finds the place of a node id. Sets are small, so that a walk is fastest.
func (s Voters) search(id kafka.NodeID) (int, bool) {
	for i := range s {
		if s[i].Key.Node >= id {
			return i, s[i].Key.Node == id
		}
	}
	return len(s), false
}

func (s Voters) endpoints(id kafka.NodeID) Endpoints {
	v, _ := s.Node(id)
	return v.Endpoints
}
