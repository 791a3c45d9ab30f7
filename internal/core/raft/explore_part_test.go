package raft

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/invariant"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// part is one node as the explorer has it: the real core, a disk of which a
// crash leaves any beginning of what was not synced, and requests that wait for
// their write. Parts are never changed: a step makes a new one.
type part struct {
	id      kafka.NodeID
	core    *Core
	file    Election
	durable []stored
	written []stored // as the files have it
	queue   []diskOp // asked for, not yet written
	late    []diskOp // written, not yet synced
	last    Seq      // written
	held    []Pending

	formatted Voters // of the checkpoint 0-0, or nil
	longer    bool   // what is known of longer logs has influence here (B6)
	deaths    bool   // it may be told of its leader's death (B3)
	rounds    bool   // the order of rounds has influence here (B4)
	early     early
}

// diskOp is an append, or a cut when it has no batches.
type diskOp struct {
	seq     Seq
	batches []stored
	end     kafka.Offset
}

func (o diskOp) do(log []stored) []stored {
	if o.batches == nil {
		return slices.DeleteFunc(slices.Clone(log), func(b stored) bool { return b.end > o.end })
	}
	return append(slices.Clip(slices.Clone(log)), o.batches...)
}

// noChance makes every drawn time its least. Which time passes first is explored,
// not drawn.
type noChance struct{}

// Uint64 is not 0, which a draw among three would refuse without end.
func (noChance) Uint64() uint64 { return 1 << 62 }

// instantly has no time that matters: whatever waits can end at any moment, but
// answers to fetches are never parked and nothing times out by itself.
func instantly() Timing {
	return Timing{Election: 1, Fetch: 3, Request: time.Hour, RetryBackoff: 0, BackoffMax: 1, FetchBytes: 1 << 20, ChunkBytes: 1 << 20}
}

// newPart is a node that has never run. Dynamic voters stand in the checkpoint of
// format time, which all have.
func (s *scope) newPart(id kafka.NodeID) *part {
	var set Voters
	for i := range s.voters {
		v := Voter{Key: kafka.ReplicaKey{Node: kafka.NodeID(i + 1)}, Endpoints: endpointsOf(kafka.NodeID(i + 1))}
		if s.dynamic {
			v.Key.Dir, v.MaxLevel = dirOf(v.Key.Node), 1
		}
		set = set.With(v)
	}
	p := &part{id: id, longer: s.longer != 0, deaths: s.bounds[proofs] > 0, rounds: s.rounds, early: notEarly, file: NoElection(), core: &Core{lost: noLostVotes, cfg: Config{
		Self: kafka.ReplicaKey{Node: id, Dir: dirOf(id)}, Controller: true, Endpoints: endpointsOf(id),
		Listener: "CONTROLLER", Static: set, Timing: instantly(), Rand: rand.New(noChance{}),
	}}}
	p.file.Epoch = s.since
	if s.dynamic {
		p.core.cfg.Static, p.formatted = nil, set
	}
	if s.rounds {
		p.core.cfg.Timing = orderly()
	}
	return p
}

// lose puts an empty disk in the place of the one that the node had; its directory
// has another id (KIP-853).
func (p *part) lose(h *happened) {
	p.file, p.durable, p.late = NoElection(), nil, nil
	p.core.cfg.Self.Dir, p.core.lost = newDirOf(p.id), noLostVotes
	p.boot(0, h)
}

// happened is what a step of one part comes to.
type happened struct {
	part *part
	sent []envelope // call != 0: the sender waits for the answer, or the asker does
	rule string     // that it breaks, or ""
}

// try takes a step with a copy of the part.
func (p *part) try(step func(n *part, h *happened)) (h happened) {
	n := *p
	n.core = copyCore(p.core)
	n.held = slices.Clone(p.held)
	h.part = &n
	defer func() {
		switch broken := recover().(type) {
		case nil:
		case invariant.Broken:
			h.rule = broken.Text
		default:
			panic(broken)
		}
	}()
	step(&n, &h)
	n.forget()
	if h.rule == "" {
		h.rule = n.breaks(p)
	}
	return h
}

// forget drops what has no influence on what comes, so that states are equal
// when they will behave so.
func (p *part) forget() {
	c := p.core
	c.due, c.out = c.now, Effects{}
	c.pace.since, c.pace.slowest, c.pace.trip = c.now, 0, 0
	if c.pace.syncing == 0 {
		c.pace.latest = 0
	}
	if c.log.truncated <= c.log.done {
		c.log.truncated = 0
	}
	c.silence = silence{} // its time is never reached here
	if c.longer.ended = c.now; !p.longer {
		c.longer = noLongerLog // nor is its
	} else if c.longer.due != kafka.Never {
		c.longer.due = c.now.Add(roundPause)
	}
	if _, waits := c.role.(*unattached); waits {
		c.calls.ring = 0
	}
	for i := range c.calls.conns {
		switch x := &c.calls.conns[i]; {
		case x.call == 0:
			x.sent, x.limit = 0, 0
		case x.waiting(c.now):
			x.sent = c.now
		}
	}
	p.forgetDeaths()
	p.anyTime()
	if l, leads := c.role.(*leader); leads {
		known := l.replicas.without(nil)
		l.replicas = replicas{} // made again in order of keys: it does not matter who came first
		for _, x := range known {
			*l.replicas.entry(c.quorum.voters(), x.key, c.now) = replica{key: x.key, end: x.end, fetched: c.now, leaderEnd: kafka.NoOffset, everFull: x.everFull}
		}
		if l.change != nil {
			l.change.expires = kafka.Never
		}
		l.leaveBy = 0
	}
}

// anyTime gives all timers that run the same time: each can end at any moment.
func (p *part) anyTime() {
	if p.rounds {
		p.timerAt(p.core.now.Add(10 * p.core.cfg.Timing.Election)) // long after every d
		return
	}
	p.timerAt(p.core.now + 1)
}

// timerAt has the timer of the role end at a time.
func (p *part) timerAt(soon kafka.Instant) {
	switch r := p.core.role.(type) {
	case *unattached:
		r.expires = soon
	case *prospective:
		if r.expires, r.resume = soon, 0; !p.rounds {
			r.begins, r.rivals, r.alone = p.core.now, rivals{}, true
		}
	case *candidate:
		r.expires = soon
	case *resigned:
		r.expires, r.heirAt = soon, 0
	case *follower:
		r.expires, r.announceAt = soon, kafka.Never
	case *leader:
		r.quorum.expires, r.beginAt = soon, kafka.Never
	}
}

// boot starts the part from its disk, of which a crash has left k late writes.
func (p *part) boot(k int, h *happened) {
	for _, o := range p.late[:k] {
		p.durable = o.do(p.durable)
	}
	p.written, p.queue, p.late, p.last, p.held = p.durable, nil, nil, 0, nil
	span := describe(p.durable)
	st := Stored{Election: p.file, Forgotten: p.core.VotesLost(), Epochs: span.Epochs, Voters: span.Voters, Levels: span.Levels}
	if p.formatted != nil {
		st.Snapshots = []Snapshot{{}}
		st.Voters = append([]At[Voters]{{kafka.NoOffset, p.formatted}}, st.Voters...)
		st.Levels = append([]At[int16]{{kafka.NoOffset, 1}}, st.Levels...)
	}
	if n := len(p.durable); n > 0 {
		st.LogEnd = p.durable[n-1].end
	}
	core, effects, err := New(p.dawn(), p.core.cfg, st)
	if err != nil {
		h.rule = "V5: " + err.Error()
		return
	}
	p.core, p.early = core, notEarly
	p.carryOut(effects, envelope{}, h)
}

// step hands the core an event; of a delivered message in is what it was.
func (p *part) step(ev Event, in envelope, h *happened) {
	p.carryOut(p.core.Step(p.core.now, ev), in, h)
}

// receive delivers a message.
func (p *part) receive(e envelope, h *happened) {
	switch body := e.body.(type) {
	case unsupportedVersion:
		p.step(Unanswered{p.core.calls.conn(e.from).call, kerr.UnsupportedVersion}, e, h)
	case FetchAnswer:
		body.Span = describe(e.batches)
		p.step(Answered{p.core.calls.conn(e.from).call, body}, e, h)
	default:
		if e.answer {
			p.step(Answered{p.core.calls.conn(e.from).call, body}, e, h)
			return
		}
		p.step(Received{1, body}, e, h)
	}
}

// timeout lets the time of the role end.
func (p *part) timeout(h *happened) {
	m := member{core: p.core}
	if p.rounds {
		p.timerAt(p.core.now) // it may end before any d
	}
	p.core.now = max(p.core.now, m.timer())
	p.core.due = p.core.now
	p.step(Passed{}, envelope{}, h)
}

// pause lets the time pass after which a longer log starts a round. It ends before
// the time of the role does.
func (p *part) pause(h *happened) {
	p.core.now = p.core.longer.due
	p.core.due = p.core.now
	p.anyTime()
	p.step(Passed{}, envelope{}, h)
}

// write lets the files have all that was asked for; sync makes it durable.
func (p *part) write(h *happened) {
	for _, o := range p.queue {
		p.written = o.do(p.written)
		p.last = o.seq
	}
	p.late = append(slices.Clip(p.late), p.queue...)
	p.queue = nil
	p.step(Written{p.last, p.end()}, envelope{}, h)
}

func (p *part) sync(h *happened) {
	p.durable, p.late = p.written, nil
	p.step(Synced{p.last, p.end()}, envelope{}, h)
	for len(p.held) > 0 && p.held[0].After <= p.last {
		p.send(p.held[0].Message, envelope{}, h)
		p.held = p.held[1:]
	}
}

func (p *part) end() kafka.Offset {
	if n := len(p.written); n > 0 {
		return p.written[n-1].end
	}
	return 0
}

func (p *part) carryOut(e Effects, in envelope, h *happened) {
	if e.Fault != nil {
		h.rule = "R8: " + e.Fault.Error()
	}
	if e.Election != nil {
		p.file = *e.Election
	}
	if t := e.Truncate; t != nil {
		p.queue = append(slices.Clip(p.queue), diskOp{seq: t.Seq, end: t.End})
	}
	for _, a := range e.Append {
		batches := []stored{{base: a.Base, end: a.End, epoch: a.Epoch}}
		if a.Control != nil {
			batches[0].voters, batches[0].level = a.Control.Set, a.Control.Level
		}
		if a.From != 0 {
			batches = slices.DeleteFunc(slices.Clone(in.batches), func(b stored) bool { return b.end > a.End })
		}
		p.queue = append(slices.Clip(p.queue), diskOp{seq: a.Seq, batches: batches})
	}
	for _, m := range e.Send {
		p.send(m, in, h)
	}
	p.held = append(p.held, e.SendSync...)
}

// send puts a message into the network; an answer goes where its request came
// from.
func (p *part) send(m Message, in envelope, h *happened) {
	if m.To == kafka.NoNode {
		e := envelope{from: p.id, to: in.from, answer: true, call: in.call, body: m.Body}
		if a, ok := m.Body.(FetchAnswer); ok {
			for _, b := range p.written {
				if b.end > a.Read.From && b.end <= a.Read.Below {
					e.batches = append(e.batches, b)
				}
			}
			a.Read = Read{}
			e.body = a
		}
		h.sent = append(h.sent, e)
		return
	}
	e := envelope{from: p.id, to: m.To, body: m.Body}
	if p.core.calls.conn(m.To).call == m.Call {
		e.call = 1 // the answer is waited for
	}
	h.sent = append(h.sent, e)
}

// unsupportedVersion stands for the answer of a peer that does not know the
// request's version.
type unsupportedVersion struct{}

func (unsupportedVersion) body() {}

// call is the call to a node that the part waits for, or 0.
func (p *part) call(to kafka.NodeID) Call {
	if i := slices.IndexFunc(p.core.calls.conns, func(x conn) bool { return x.to == to }); i >= 0 {
		return p.core.calls.conns[i].call
	}
	return 0
}

// settled tells that a request whose answer nobody waits for can never again
// change anything here, so that it need not be kept.
func (p *part) settled(e envelope) bool {
	mine := p.core.election
	switch r := e.body.(type) {
	case VoteRequest:
		known, _ := p.core.role.leader()
		if r.PreVote && r.Epoch == mine.Epoch {
			return !p.mayYetInsist()
		}
		return r.Epoch < mine.Epoch || r.Epoch == mine.Epoch && (mine.hasVoted() || known >= 0)
	case BeginRequest:
		f, follows := p.core.role.(*follower)
		return r.Epoch < mine.Epoch || follows && r.Epoch == mine.Epoch && f.id == r.Leader
	case EndRequest:
		return r.Epoch < mine.Epoch
	case FetchRequest:
		stood := mine.Leader < 0 && mine.Voted.Node == p.id // a candidate may yet lead
		return r.Epoch < mine.Epoch || r.Epoch == mine.Epoch && !stood && !p.core.leads()
	}
	return false
}

// key is the part in one way.
func (p *part) key() string {
	k := canon{}
	k.core(p.core)
	k.value(reflect.ValueOf(p.core.cfg.Self))
	k.value(reflect.ValueOf(p.file))
	k.early(p)
	for _, log := range [][]stored{p.durable, p.written} {
		k.value(reflect.ValueOf(log))
	}
	for _, ops := range [][]diskOp{p.queue, p.late} {
		k.int(int64(len(ops)))
		for _, o := range ops {
			k.value(reflect.ValueOf(o))
		}
	}
	k.value(reflect.ValueOf(p.last))
	for _, m := range p.held {
		k.value(reflect.ValueOf(m))
		k.value(reflect.ValueOf(p.call(m.Message.To) == m.Message.Call))
	}
	return string(k.to)
}
