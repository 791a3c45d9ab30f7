package raft

import (
	clock "time"
)

// Clocks are looked at, and waited for, under a name of our own.
func Clocks(start clock.Time) []any {
	clock.Sleep(clock.Second)
	return []any{
		clock.Now, clock.Since(start), clock.Until(start), clock.After(1), clock.AfterFunc(1, nil),
		clock.Tick(1), clock.NewTimer(1), clock.NewTicker(1),
	}
}

// A variable may have the name of a package.
func field(clock struct{ Now int }) int { return clock.Now }
