//go:build !race

package sim

// raceDetector tells that a seed takes ten times as long.
const raceDetector = false
