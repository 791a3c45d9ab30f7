package metrics

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// Rule: a logger lets through what its own level says, else the root's, at once and
// whatever was handed out before.
func TestLevels(t *testing.T) {
	var out bytes.Buffer
	made := NewLogger(&out, slog.LevelWarn, false).With("node", 3)
	l := LevelsOf(made)
	a, b := l.Part("a"), l.Part("b").With("more", 1)
	f := func(log *slog.Logger, level slog.Level, want bool) {
		t.Helper()
		out.Reset()
		log.Log(t.Context(), level, "line")
		if got := out.Len() > 0; got != want {
			t.Errorf("a line of %v is let through: %v, want %v", level, got, want)
		}
		if want && !strings.Contains(out.String(), "node=3") {
			t.Errorf("no node in %s", out.String())
		}
	}
	f(a, slog.LevelInfo, false)
	f(a, slog.LevelWarn, true)
	l.Set("a", "TRACE")
	f(a, levelTrace, true)
	f(b, slog.LevelInfo, false)
	l.Set(RootLogger, "DEBUG")
	f(a, levelTrace, true)
	f(b, slog.LevelDebug, true)
	f(l.Root(), slog.LevelDebug, true)
	l.Clear("a")
	f(a, levelTrace, false)
	f(a, slog.LevelDebug, true)
	l.Set(RootLogger, "FATAL")
	f(a, slog.LevelError, false)
	f(made, slog.LevelInfo, false) // that of the process stays
	l.Clear(RootLogger)
	l.Set("nobody", "INFO")
	l.Set("b", "loud")
	if got := l.All(); len(got) != 3 || got["a"] != "FATAL" || got["b"] != "FATAL" || got[RootLogger] != "FATAL" {
		t.Errorf("the levels are %v", got)
	}
}

// Rule: of a handler that others have made, the root's level is what it lets through.
func TestLevelsOfAnotherHandler(t *testing.T) {
	f := func(level slog.Level, want string) {
		t.Helper()
		l := LevelsOf(slog.New(slog.NewTextHandler(&bytes.Buffer{}, &slog.HandlerOptions{Level: level})))
		if got := l.All()[RootLogger]; got != want {
			t.Errorf("%v: %s, want %s", level, got, want)
		}
	}
	f(slog.LevelDebug, "DEBUG")
	f(slog.LevelInfo, "INFO")
	f(slog.LevelError, "ERROR")
	if got := LevelsOf(slog.New(slog.DiscardHandler)).All()[RootLogger]; got != "FATAL" {
		t.Errorf("of a handler that lets nothing through: %s", got)
	}
}
