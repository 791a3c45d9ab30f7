// Package quorumtrace lets the steps of the quorum's core be held against the
// protocol. Observer turns what a core was told, has become and asks for into
// the steps of package abstract; Writer puts them into a file, a line of JSON each,
// as a node does that was started with --trace-quorum; Check reads such a file and
// says which step the protocol does not allow.
package quorumtrace
