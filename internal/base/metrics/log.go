package metrics

import (
	"fmt"
	"log/slog"
	"strings"
)

// ParseLevel reads the name of a log level: debug, info, warn or error.
func ParseLevel(text string) (slog.Level, error) {
	var level slog.Level
	switch strings.ToLower(text) {
	case "debug", "info", "warn", "error":
		return level, level.UnmarshalText([]byte(text))
	}
	return 0, fmt.Errorf("log level %q is not known (allowed: debug, info, warn, error)", text)
}
