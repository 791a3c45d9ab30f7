package raft

import (
	"cmp"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

const (
	// maxParked bounds the fetches of observers and other readers that wait. When
	// it is reached, the one that would be answered next makes room: it is answered
	// early, without records.
	maxParked = 2048
	// maxWait bounds how long such a fetch waits, whatever it asks for. Apache
	// Kafka's replicas ask for as much.
	maxWait = 500 * time.Millisecond
)

// parkedFetch waits for records or for the high watermark to move.
type parkedFetch struct {
	call    Call
	request FetchRequest
	hw      kafka.Offset // when it was parked
	until   kafka.Instant
	answer  FetchAnswer // to give when the time is up
}

// parked are the fetches that a leader could not answer with anything new. While
// there is no news for them they cost a step nothing. Voters are answered first.
type parked struct {
	voters []parkedFetch // one for each at most, in the order in which they came
	others []parkedFetch // a heap: the one whose time is up first comes first
	// lowest is at or below the offset of every fetch, hw the high watermark that
	// was looked at last.
	lowest, hw kafka.Offset
}

func (p *parked) empty() bool { return len(p.voters)+len(p.others) == 0 }

// add parks a fetch and gives the one that makes room for it, if there is one: an
// older fetch of the same voter, which that voter has given up, or that of an
// observer.
func (p *parked) add(f parkedFetch, voter bool) (room parkedFetch, full bool) {
	if p.empty() {
		p.lowest, p.hw = f.request.Offset, f.hw
	}
	p.lowest = min(p.lowest, f.request.Offset)
	if voter {
		i := slices.IndexFunc(p.voters, func(o parkedFetch) bool { return o.request.Replica.Node == f.request.Replica.Node })
		if i >= 0 {
			room, full = p.voters[i], true
			p.voters = slices.Delete(p.voters, i, i+1)
		}
		p.voters = append(p.voters, f)
		return room, full
	}
	if len(p.others) >= maxParked {
		room, full = p.pop(), true
	}
	p.push(f)
	return room, full
}

// take removes the ones that a log written up to end, or a high watermark at
// hw, has news for.
func (p *parked) take(end, hw kafka.Offset) []parkedFetch {
	if p.empty() || hw == p.hw && end <= p.lowest {
		return nil
	}
	p.hw, p.lowest = hw, end
	return p.cut(func(f parkedFetch) bool { return f.request.Offset < end || f.hw != hw })
}

func (p *parked) takeAll() []parkedFetch {
	return p.cut(func(parkedFetch) bool { return true })
}

// cut removes what is due, voters first and each in the order of their calls.
func (p *parked) cut(due func(parkedFetch) bool) []parkedFetch {
	out := make([]parkedFetch, 0, len(p.voters))
	from := func(all []parkedFetch) []parkedFetch {
		first := len(out)
		all = slices.DeleteFunc(all, func(f parkedFetch) bool {
			if due(f) {
				out = append(out, f)
				return true
			}
			return false
		})
		slices.SortFunc(out[first:], func(a, b parkedFetch) int { return cmp.Compare(a.call, b.call) })
		return all
	}
	p.voters = from(p.voters)
	if p.others = from(p.others); len(out) > 0 {
		for i := len(p.others)/2 - 1; i >= 0; i-- {
			p.sink(i)
		}
	}
	return out
}

// expire answers those whose time is up, as it was known when they came.
func (p *parked) expire(c *Core) {
	for len(p.voters) > 0 {
		i := slices.IndexFunc(p.voters, func(f parkedFetch) bool { return c.now >= f.until })
		if i < 0 {
			break
		}
		c.answer(p.voters[i].call, p.voters[i].answer)
		p.voters = slices.Delete(p.voters, i, i+1)
	}
	for len(p.others) > 0 && c.now >= p.others[0].until {
		f := p.pop()
		c.answer(f.call, f.answer)
	}
}

func (p *parked) next() kafka.Instant {
	at := kafka.Never
	if len(p.others) > 0 {
		at = p.others[0].until
	}
	for i := range p.voters {
		at = min(at, p.voters[i].until)
	}
	return at
}

// sooner tells which of two fetches in the heap comes first; of two whose time is
// up at once, the one that came first.
func (p *parked) sooner(i, j int) bool {
	a, b := &p.others[i], &p.others[j]
	return cmp.Or(cmp.Compare(a.until, b.until), cmp.Compare(a.call, b.call)) < 0
}

func (p *parked) push(f parkedFetch) {
	p.others = append(p.others, f)
	for i := len(p.others) - 1; i > 0; {
		up := (i - 1) / 2
		if !p.sooner(i, up) {
			return
		}
		p.others[i], p.others[up] = p.others[up], p.others[i]
		i = up
	}
}

func (p *parked) pop() parkedFetch {
	f, last := p.others[0], len(p.others)-1
	p.others[0], p.others[last] = p.others[last], parkedFetch{}
	p.others = p.others[:last]
	p.sink(0)
	return f
}

func (p *parked) sink(i int) {
	for {
		down := 2*i + 1
		if down >= len(p.others) {
			return
		}
		if right := down + 1; right < len(p.others) && p.sooner(right, down) {
			down = right
		}
		if !p.sooner(down, i) {
			return
		}
		p.others[i], p.others[down] = p.others[down], p.others[i]
		i = down
	}
}

// waitFor is how long a fetch may be parked. A voter's is short, so that it
// hears from us well before it would give us up (B2).
func waitFor(c *Core, r FetchRequest, voter bool) time.Duration {
	if voter {
		return min(r.MaxWait, c.cfg.Timing.voterWait())
	}
	return min(r.MaxWait, maxWait)
}
