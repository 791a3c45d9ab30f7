// Package abstract is the metadata quorum's protocol as a relation: Allowed
// tells which states of a node may follow on an event. It is written from the
// text of the protocol (KIP-595, KIP-853, KIP-996 and the places where this
// project goes beyond them, B1 to B7) and knows nothing of the code that decides
// in production, so that the two can be held against each other. A Tracker follows
// one node and says which step is not in the relation; the simulator lets it see
// every step, and a running node writes its steps to a file for it.
//
// Of time the model knows only that it passes: any timer may end at any step. Of
// records it knows offsets, epochs and sets of voters. A step that the text
// forbids is an error even if no harm has come of it yet.
package abstract
