package raft

import (
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// maxParked bounds the fetches that wait; when it is reached further ones are
// answered at once, without records.
const maxParked = 8192

// parkedFetch waits for records or for the high watermark to move.
type parkedFetch struct {
	call    Call
	request FetchRequest
	hw      kafka.Offset // when it was parked
	until   kafka.Instant
	answer  FetchAnswer // to give when the time is up
}

// parked are the fetches that a leader could not answer with anything new.
type parked struct{ all []parkedFetch }

func (p *parked) full() bool { return len(p.all) >= maxParked }

func (p *parked) add(f parkedFetch) { p.all = append(p.all, f) }

// take removes the ones that a log written up to end, or a high watermark at
// hw, has news for.
func (p *parked) take(end, hw kafka.Offset) []parkedFetch {
	return p.cut(func(f parkedFetch) bool { return f.request.Offset < end || f.hw != hw })
}

func (p *parked) takeAll() []parkedFetch {
	return p.cut(func(parkedFetch) bool { return true })
}

func (p *parked) cut(due func(parkedFetch) bool) []parkedFetch {
	if !slices.ContainsFunc(p.all, due) {
		return nil
	}
	var out []parkedFetch
	p.all = slices.DeleteFunc(p.all, func(f parkedFetch) bool {
		if due(f) {
			out = append(out, f)
			return true
		}
		return false
	})
	return out
}

// expire answers those whose time is up, as it was known when they came.
func (p *parked) expire(c *Core) {
	for _, f := range p.cut(func(f parkedFetch) bool { return c.now >= f.until }) {
		c.answer(f.call, f.answer)
	}
}

func (p *parked) next() kafka.Instant {
	at := kafka.Never
	for _, f := range p.all {
		at = min(at, f.until)
	}
	return at
}

// waitFor is how long a fetch may be parked. A voter's is short, so that it
// hears from us well before it would give us up (B2).
func waitFor(c *Core, r FetchRequest) time.Duration {
	if c.quorum.voters().Contains(r.Replica) {
		return min(r.MaxWait, c.cfg.Timing.voterWait())
	}
	return r.MaxWait
}
