package config

import (
	"math"
	"strings"
	"time"
)

func trim(text string) string { return strings.TrimSpace(text) }

// unitOf reads the unit off a key's name; milliseconds where it says nothing.
func unitOf(name string) time.Duration {
	switch {
	case strings.HasSuffix(name, ".hours"):
		return time.Hour
	case strings.HasSuffix(name, ".minutes"):
		return time.Minute
	case strings.HasSuffix(name, ".seconds"), strings.HasSuffix(name, ".secs"):
		return time.Second
	}
	return time.Millisecond
}

// saturated multiplies without running over: what is too long is the longest
// duration there is, which stands for "never".
func saturated(n int64, unit time.Duration) time.Duration {
	if n > math.MaxInt64/int64(unit) {
		return math.MaxInt64
	}
	return time.Duration(n) * unit
}
