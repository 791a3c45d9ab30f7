package metrics

import (
	"fmt"
	"io"
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

// NewLogger writes to w what is at least of a level, one line an event: as
// text, or as JSON.
func NewLogger(w io.Writer, level slog.Leveler, json bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if json {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
