package raftnode

import (
	"log/slog"
	"sync"
	"time"
)

// complainEvery is how long a complaint rests once it was made. What a peer does
// wrong it does with each retry, every controller.quorum.retry.backoff.ms (20).
const complainEvery = time.Minute

// maxComplaints bounds how many are kept apart. Peers that cause more than that
// have each of theirs repeated sooner.
const maxComplaints = 256

// complaints tells of what peers do wrong: the first time, and then, while it
// goes on, once a minute with how often it came. The nil one is silent. It may be
// used by any goroutine.
type complaints struct {
	log *slog.Logger

	mu   sync.Mutex
	made map[complaint]*repeated
}

// complaint is what is kept apart: a text, and who or what it is about.
type complaint struct {
	text  string
	about any
}

// repeated is when a complaint was made last, and how often it came since.
type repeated struct {
	at    time.Time
	since int
}

// warn logs a complaint, unless it was made a moment ago. about must be
// comparable.
func (c *complaints) warn(about any, text string, args ...any) {
	if c == nil {
		return
	}
	if more, due := c.due(complaint{text, about}); due {
		if more > 0 {
			args = append(args, "repeated", more)
		}
		c.log.Warn(text, args...)
	}
}

// warnIfItGoesOn logs a complaint the second time, and from then on as warn does:
// what happens once may be over.
func (c *complaints) warnIfItGoesOn(about any, text string, args ...any) {
	if c == nil {
		return
	}
	if _, first := c.due(complaint{text, onlyOnce{about}}); !first {
		c.warn(about, text, args...)
	}
}

// onlyOnce is what a complaint is about that was not made yet.
type onlyOnce struct{ about any }

// due counts a complaint; more is how many were swallowed since the last one.
func (c *complaints) due(what complaint) (more int, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	r := c.made[what]
	switch {
	case r == nil && (c.made == nil || len(c.made) >= maxComplaints):
		c.made = map[complaint]*repeated{what: {at: now}}
	case r == nil:
		c.made[what] = &repeated{at: now}
	case now.Sub(r.at) < complainEvery:
		r.since++
		return 0, false
	default:
		more = r.since
		*r = repeated{at: now}
	}
	return more, true
}
