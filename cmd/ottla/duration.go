package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// parseDuration reads a duration of ISO 8601, as Kafka's tools take it
// (P1DT2H30M5.5S), or of Go (26h30m).
func parseDuration(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	iso := regexp.MustCompile(`^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)
	parts := iso.FindStringSubmatch(strings.ToUpper(text))
	if parts == nil || parts[0] == "P" || strings.HasSuffix(parts[0], "T") {
		return 0, fmt.Errorf("%q is not a duration such as P1D, PT2H30M or 90m", text)
	}
	var total float64
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if parts[i+1] == "" {
			continue
		}
		n, err := strconv.ParseFloat(parts[i+1], 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration: %w", text, err)
		}
		total += n * float64(unit)
	}
	if total > float64(1<<62) {
		return 0, fmt.Errorf("%q is too long", text)
	}
	return time.Duration(total), nil
}
