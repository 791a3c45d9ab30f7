// Package raft decides how the metadata quorum behaves (KRaft: KIP-595, with
// pre-vote of KIP-996, check quorum and the voter sets of KIP-853). It is one
// pure function, Core.Step: an event and the time go in, everything that has
// to happen comes out as Effects.
//
// Followers pull, so the core never reads a log entry. It works on end
// offsets, a table of epochs, snapshot ids and the histories of voter sets and
// of kraft.version. Whoever carries out the effects owns the bytes, the disk
// and the wire, and tells the core what became of them.
//
// One file holds one role (unattached, prospective, candidate, leader,
// follower, resigned) or one request. Numbers of the form B1 to B7 name the
// places where this core does better than Apache Kafka in ways no peer can
// take for a change of the protocol.
package raft
