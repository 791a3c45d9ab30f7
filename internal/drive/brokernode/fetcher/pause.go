package fetcher

import "time"

// firstPause is how long the first rest is. A follower often learns of a new
// leader a few milliseconds before the leader does.
const firstPause = 10 * time.Millisecond

// pause is a rest after a failure, twice as long after each one that follows.
type pause struct {
	last  time.Duration // 0: the last attempt went well
	until time.Time     // zero: not resting
}

// begin begins a rest and tells how long it is.
func (p *pause) begin(now time.Time, longest time.Duration) time.Duration {
	p.last = min(max(2*p.last, firstPause), longest)
	p.until = now.Add(p.last)
	return p.last
}

func (p *pause) on() bool { return !p.until.IsZero() }

// end lets the next attempt be made.
func (p *pause) end() { p.until = time.Time{} }

// over says that an attempt went well.
func (p *pause) over() { *p = pause{} }
