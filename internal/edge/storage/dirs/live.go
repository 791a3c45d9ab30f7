package dirs

import (
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/config"
)

// Live are the settings that change while the directories are in use.
type Live struct {
	Threads        int           // num.recovery.threads.per.data.dir: logs of one directory that are opened, and closed, at the same time
	ProducerExpiry time.Duration // producer.id.expiration.ms; 0 is for ever
	Cleaners       int           // log.cleaner.threads
	CleanEvery     time.Duration // log.cleaner.backoff.ms
	KeyBytes       int64         // log.cleaner.dedupe.buffer.size, for all cleaners together
	CleanRate      float64       // log.cleaner.io.max.bytes.per.second, of all cleaners together
	ScrubRate      float64       // ottla.scrub.bytes.per.second, of each directory; 0: damage is not looked for
	ScrubEvery     time.Duration // ottla.scrub.interval.ms
}

// LiveOf reads a broker's configuration.
func LiveOf(c *config.Config) Live {
	return Live{
		Threads:        int(c.Int("num.recovery.threads.per.data.dir")),
		ProducerExpiry: c.Duration("producer.id.expiration.ms"),
		Cleaners:       int(c.Int("log.cleaner.threads")),
		CleanEvery:     c.Duration("log.cleaner.backoff.ms"),
		KeyBytes:       c.Int("log.cleaner.dedupe.buffer.size"),
		CleanRate:      c.Double("log.cleaner.io.max.bytes.per.second"),
		ScrubRate:      float64(c.Int("ottla.scrub.bytes.per.second")),
		ScrubEvery:     c.Duration("ottla.scrub.interval.ms"),
	}
}

// SetLive has other settings count from now on.
func (d *Dirs) SetLive(next Live) { d.live.set(next) }

// live are the settings that count, and who waits for others.
type live struct {
	mu      sync.Mutex
	is      Live
	changed chan struct{} // closed when is changes
}

// now gives the settings, and a channel that is closed when they change.
func (l *live) now() (Live, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.is, l.changed
}

func (l *live) set(next Live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil && l.is == next {
		return
	}
	if l.changed != nil {
		close(l.changed)
	}
	l.is, l.changed = next, make(chan struct{})
}
