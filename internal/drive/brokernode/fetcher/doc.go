// Package fetcher copies records from leaders to the replicas that follow them
// on this broker: the acting half of replication, of which the rules stand in
// core/replica.
//
// There is one source for each leader's broker, or several where
// num.replica.fetchers says so: a goroutine with a connection and a fetch session
// (KIP-227) of its own, that asks for all its partitions at once and waits at the
// leader until there is something. A source that gets stuck holds up nobody else.
// It owns the position it asked from; where the replica stands is asked of the
// replica, and an answer that comes too late is refused there.
package fetcher
