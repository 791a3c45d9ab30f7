// Package sim runs the quorum's core, the very code of production, in a world
// of its own: virtual time, a network that loses, delays, repeats and cuts,
// disks that forget what was not synced, nodes that crash, stall and have a
// clock that is too fast. One goroutine runs it all from one seed, so a seed is
// a story that can be told again, byte for byte.
//
// A run has two phases. In the first one faults come as the plan of the seed
// has drawn them. In the second one a majority of the voters is repaired for
// good, and what else is broken stays so: then the quorum has to agree in a
// bounded time. The invariants (checker) hold after every event of both.
//
// World is the clock and the queue of what comes; node joins a core to its
// disk, its writer and the network as internal/drive/raftnode does; chaos
// breaks things. They are told apart from production by knowing the seed.
package sim
