//go:build race

package wire

// raceAllowance: the race detector keeps notes beside what is allocated.
const raceAllowance = 2
