package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// Shrink looks for a short story with the end of a long one: fewer nodes and kinds
// of faults, less to do, another course of chance, and the same rule broken after
// fewer events. It plays at most so many stories, each no longer than the best so
// far. A plan that breaks no rule comes back as it was.
func Shrink(p Plan, tries int) (Plan, Result) {
	best, found := p, RunPlan(p, nil)
	if found.Failure == nil {
		return best, found
	}
	r := newRand(p.Seed, 0x736872696e6b)
	for n := range tries {
		next := best
		if n%3 == 0 { // another seed may have a shorter way to the same end
			next = NewPlan(p.Seed + uint64(n))
			next.Alone = p.Alone
		}
		for range 1 + r.IntN(4) {
			next = next.less(r, found)
		}
		if next.Most = found.Events; n%4 > 0 { // else the same course with less in it
			next.Chance = uint64(n + 1)
		}
		got := RunPlan(next, nil)
		if got.Failure == nil || got.Failure.Rule != found.Failure.Rule || got.Events > found.Events {
			continue
		}
		best, found = next, got
	}
	best.Most = 0
	return best, RunPlan(best, nil)
}

// less is a plan with one thing less, or as it is.
func (p Plan) less(r *rand.Rand, found Result) Plan {
	p.Speed = append([]int64(nil), p.Speed...)
	switch r.IntN(13) {
	case 0:
		p.Voters = max(p.Voters-1, min(p.Voters, 2))
		p.Speed = p.Speed[:p.controllers()+p.Observers]
	case 1:
		p.Observers = 0
		p.Speed = p.Speed[:p.controllers()]
	case 2:
		p.ReshapeEvery, p.AutoJoin, p.Spares = 0, false, 0
		p.Speed = p.Speed[:p.Voters+p.Observers]
	case 3, 4:
		p.Active[r.IntN(int(faultKinds))] = false
	case 5:
		for i := range p.Active {
			p.Active[i] = p.Active[i] && r.IntN(3) > 0
		}
	case 6:
		p.Chaos = min(p.Chaos, found.Failure.At+time.Millisecond)
	case 7:
		p.ProposeEvery = min(2*p.ProposeEvery, time.Second)
	case 8:
		p.FaultEvery = max(p.FaultEvery/2, 20*time.Millisecond)
	case 9:
		p.Lost, p.Resent, p.Repeated, p.Delay = p.Lost/2, p.Resent/2, p.Repeated/2, p.Delay/2
	case 10:
		p.CrashAtDisk = min(2*max(p.CrashAtDisk, 1), 100)
	case 11:
		p.Batches, p.TidyEvery = 100, min(2*p.TidyEvery, time.Second)
	}
	return p
}

// Text is the plan in a form that ParsePlan reads, for a story that is to be told
// again.
func (p Plan) Text() string {
	text, err := json.Marshal(p)
	if err != nil {
		return err.Error() // numbers, names and lists of them
	}
	return string(text)
}

// ParsePlan reads a plan. It bounds what a run would take.
func ParsePlan(text []byte) (Plan, error) {
	var p Plan
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("reading a plan: %w", err)
	}
	nodes := p.controllers() + p.Observers
	switch {
	case p.Voters < 1 || p.Observers < 0 || p.Spares < 0 || nodes > 20 || len(p.Speed) != nodes:
		return p, fmt.Errorf("a plan of %d voters, %d spares and %d observers with %d clocks", p.Voters, p.Spares, p.Observers, len(p.Speed))
	case p.Chaos < 0 || p.Chaos > 24*time.Hour || p.FaultEvery < time.Millisecond || p.ProposeEvery < time.Millisecond || p.TidyEvery < time.Millisecond:
		return p, fmt.Errorf("a plan of %v with a fault each %v, a proposal each %v", p.Chaos, p.FaultEvery, p.ProposeEvery)
	case p.Room < 1 || p.Batches < 1 || p.Stall <= 0 || p.Still <= 0 || p.Far < 0:
		return p, fmt.Errorf("a plan with room for %d messages, %d batches, stalls of %v and pauses of %v", p.Room, p.Batches, p.Stall, p.Still)
	}
	return p, nil
}
