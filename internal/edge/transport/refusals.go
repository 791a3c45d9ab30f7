package transport

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// errUnserved is a request of an API or version that the listener does not
// serve.
type errUnserved struct {
	key, version int16
	clientID     string
}

func (e errUnserved) Error() string {
	return fmt.Sprintf("request of %s (key %d) version %d is not served here", kmsg.NameForKey(e.key), e.key, e.version)
}

const (
	refusalInterval = time.Minute // between two lines of the same story
	refusalStories  = 256         // told apart; further ones are only counted until some grow old
)

// refusals writes one line for each kind of refused connection and interval,
// however many there are of it: a port scan or a client in a loop does not
// fill the log.
type refusals struct {
	log      *slog.Logger
	observer Observer

	mu      sync.Mutex
	stories map[string]*story
}

type story struct {
	told   time.Time
	silent int // since then
}

// connection logs why a connection was closed from our side. Clients that
// leave, lose their network or sit idle are no news.
func (r *refusals) connection(info *ConnInfo, err error) {
	var foreign errForeign
	var unserved errUnserved
	reason, key := "malformed", "malformed "+info.ClientHost
	switch {
	case errors.Is(err, errHandshake) && !isTimeout(err):
		reason, key = "handshake", "handshake "+info.ClientHost
	case err == nil, errors.Is(err, io.EOF), isNetwork(err):
		return
	case errors.As(err, &foreign):
		reason, key = "foreign", "foreign "+info.ClientHost
	case errors.As(err, &unserved):
		reason, key = "unserved", fmt.Sprintf("unserved %d %d %s", unserved.key, unserved.version, unserved.clientID)
	case errors.Is(err, errHalfFrame):
		reason, key = "half frame", "half frame "+info.ClientHost
	}
	if r.observer != nil {
		r.observer.Refused(reason)
	}
	silent, tell := r.tell(key, time.Now())
	if !tell {
		return
	}
	attrs := []any{"listener", info.Listener, "client", info.ClientHost, "reason", err.Error()}
	if unserved.clientID != "" {
		attrs = append(attrs, "client_id", unserved.clientID)
	}
	if silent > 0 {
		attrs = append(attrs, "alike_since_last_line", silent)
	}
	r.log.Warn("closed a connection for what it sent", attrs...)
}

// tell decides whether a line is due, and how many were left out before it.
func (r *refusals) tell(key string, now time.Time) (silent int, tell bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stories[key]
	if s == nil {
		r.forgetOld(now)
		if len(r.stories) >= refusalStories {
			return 0, false
		}
		if r.stories == nil {
			r.stories = map[string]*story{}
		}
		r.stories[key] = &story{told: now}
		return 0, true
	}
	if now.Sub(s.told) < refusalInterval {
		s.silent++
		return 0, false
	}
	silent, s.silent, s.told = s.silent, 0, now
	return silent, true
}

func (r *refusals) forgetOld(now time.Time) {
	if len(r.stories) < refusalStories {
		return
	}
	for key, s := range r.stories {
		if now.Sub(s.told) >= refusalInterval {
			delete(r.stories, key)
		}
	}
}
