package metrics

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
)

// Levels below and above those of slog that Kafka has a word for.
const (
	levelTrace = slog.LevelDebug - 4
	levelFatal = slog.LevelError + 4
)

// levelWords are Kafka's words for levels, and what they let through.
var levelWords = map[string]slog.Level{
	"TRACE": levelTrace, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn, "ERROR": slog.LevelError, "FATAL": levelFatal,
}

// LevelWords are Kafka's words for levels, in order.
func LevelWords() []string { return slices.Sorted(maps.Keys(levelWords)) }

// RootLogger is the name of the logger whose level holds for those without one of
// their own.
const RootLogger = "root"

// Levels are the loggers of a node by name, and the least level that each lets
// through, which may change while they are in use.
type Levels struct {
	base slog.Handler // without a level of its own, where NewLogger made it

	mu   sync.Mutex
	root slog.Level
	all  map[string]*named
}

// named is one logger's level.
type named struct {
	level slog.LevelVar
	own   bool // it was set, and does not follow the root's
}

// LevelsOf has the level of a logger as the root's. What the handler of a logger that
// NewLogger has not made holds back, stays held back.
func LevelsOf(log *slog.Logger) *Levels {
	l := &Levels{base: log.Handler(), root: leastOf(log.Handler()), all: map[string]*named{}}
	if made, ok := l.base.(*leveled); ok {
		l.base, l.root = made.Handler, made.level.Level()
	}
	l.all[RootLogger] = &named{own: true}
	l.all[RootLogger].level.Set(l.root)
	return l
}

// leastOf is the least level with a word that a handler lets through.
func leastOf(h slog.Handler) slog.Level {
	for _, level := range slices.Sorted(maps.Values(levelWords)) {
		if h.Enabled(context.Background(), level) {
			return level
		}
	}
	return levelFatal
}

// Root is the logger of what belongs to no part.
func (l *Levels) Root() *slog.Logger { return l.logger(RootLogger) }

// Part is the logger of a part of the node; its lines say which. Asked for twice it is
// the same.
func (l *Levels) Part(name string) *slog.Logger { return l.logger(name).With("part", name) }

func (l *Levels) logger(name string) *slog.Logger {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[name] == nil {
		l.all[name] = &named{}
		l.all[name].level.Set(l.root)
	}
	return slog.New(&leveled{l.base, &l.all[name].level})
}

// All are the levels that hold, by the loggers' names, in Kafka's words.
func (l *Levels) All() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	words := make(map[string]string, len(l.all))
	for name, at := range l.all {
		words[name] = wordOf(at.level.Level())
	}
	return words
}

// wordOf is the word for a level, of those below the next one.
func wordOf(level slog.Level) (word string) {
	at := levelTrace - 1
	for w, l := range levelWords {
		if l <= max(level, levelTrace) && l > at {
			word, at = w, l
		}
	}
	return word
}

// Set changes the level of a logger to one of LevelWords; the root's goes to all that
// have none of their own. Names and words that there are not change nothing.
func (l *Levels) Set(name, word string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	level, known := levelWords[word]
	at := l.all[name]
	if !known || at == nil {
		return
	}
	at.own = true
	at.level.Set(level)
	if name == RootLogger {
		l.root = level
		for _, other := range l.all {
			other.follow(level)
		}
	}
}

// Clear lets a logger follow the root again.
func (l *Levels) Clear(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.all[name]; at != nil && name != RootLogger {
		at.own = false
		at.follow(l.root)
	}
}

func (n *named) follow(root slog.Level) {
	if !n.own {
		n.level.Set(root)
	}
}

// leveled lets through what is at least of a level.
type leveled struct {
	slog.Handler
	level slog.Leveler
}

func (h *leveled) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level.Level() && h.Handler.Enabled(ctx, level)
}

func (h *leveled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &leveled{h.Handler.WithAttrs(attrs), h.level}
}

func (h *leveled) WithGroup(name string) slog.Handler {
	return &leveled{h.Handler.WithGroup(name), h.level}
}

// NewLogger writes to w what is at least of a level, one line an event: as
// text, or as JSON.
func NewLogger(w io.Writer, level slog.Leveler, json bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: levelTrace}
	if json {
		return slog.New(&leveled{slog.NewJSONHandler(w, options), level})
	}
	return slog.New(&leveled{slog.NewTextHandler(w, options), level})
}
