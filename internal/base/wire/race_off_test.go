//go:build !race

package wire

const raceAllowance = 1
