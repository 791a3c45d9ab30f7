//go:build !race

package raftnode

// raceDetector tells that all takes ten times as long.
const raceDetector = false
