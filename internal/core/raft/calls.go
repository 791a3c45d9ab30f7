package raft

import (
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// calls keeps one request in flight for each destination. Every change of role
// forgets them all, so that a late answer to an earlier question is dropped.
type calls struct {
	last  Call
	conns []conn
	ring  int // where the last bootstrap address was taken
}

// conn is the state of one destination.
type conn struct {
	to   kafka.NodeID
	call Call // in flight, or 0
	// fetch tells that the request in flight is a Fetch or FetchSnapshot: one
	// at most is under way over all destinations, or the same offset could be
	// appended twice.
	fetch bool
	// outdated tells that a pre-vote was granted since this fetch was sent.
	outdated bool
	// bygone tells that who is asked has led, and has said farewell since.
	bygone bool
	// after is the write the request still waits for, or 0.
	after Seq
	sent  kafka.Instant
	limit time.Duration // without answer it has failed
	// backoff is when a destination that failed may be tried again.
	backoff kafka.Instant
	fresh   bool // the last request went unanswered
	vain    int8 // answers in a row that told nothing new, up to 3: see restBriefly
}

func (k *calls) reset() { k.conns = k.conns[:0] }

func (k *calls) conn(to kafka.NodeID) *conn {
	i := slices.IndexFunc(k.conns, func(x conn) bool { return x.to == to })
	if i < 0 {
		k.conns = append(k.conns, conn{to: to})
		i = len(k.conns) - 1
	}
	return &k.conns[i]
}

func (x *conn) expires() kafka.Instant {
	if x.after != 0 {
		return kafka.Never
	}
	return x.sent.Add(x.limit)
}

func (x *conn) waiting(now kafka.Instant) bool { return x.call != 0 && now < x.expires() }

// ready tells whether a request may go to a destination.
func (k *calls) ready(to kafka.NodeID, now kafka.Instant) bool {
	x := k.conn(to)
	return !x.waiting(now) && now >= x.backoff
}

// troubled tells whether the last request to a destination failed: it is
// backing off, or its time has run out.
func (k *calls) troubled(to kafka.NodeID, now kafka.Instant) bool {
	x := k.conn(to)
	return now < x.backoff || x.call != 0 && !x.waiting(now)
}

// unanswered tells whether the last request to a destination had no answer.
func (k *calls) unanswered(to kafka.NodeID) bool {
	x := k.conn(to)
	return x.fresh || x.call != 0
}

// readyAt is when a destination will be ready at the latest.
func (k *calls) readyAt(to kafka.NodeID) kafka.Instant {
	x := k.conn(to)
	if x.call != 0 {
		return max(x.expires(), x.backoff)
	}
	return x.backoff
}

// open notes a request. fresh is true when the one before went unanswered.
func (k *calls) open(to kafka.NodeID, now kafka.Instant, limit time.Duration, after Seq, fetch bool) (call Call, fresh bool) {
	x := k.conn(to)
	fresh = x.fresh || x.call != 0
	k.last++
	*x = conn{to: to, call: k.last, fetch: fetch, after: after, sent: now, limit: limit, vain: x.vain}
	return k.last, fresh
}

// close takes a request off the list and returns where it went; ok is false
// when nobody waits for it any more.
func (k *calls) close(call Call) (x *conn, ok bool) {
	i := slices.IndexFunc(k.conns, func(x conn) bool { return x.call == call && call != 0 })
	if i < 0 {
		return nil, false
	}
	x = &k.conns[i]
	x.call, x.after = 0, 0
	return x, true
}

// released starts the clock of requests that waited for a write.
func (k *calls) released(now kafka.Instant, done Seq) {
	for i := range k.conns {
		if x := &k.conns[i]; x.after != 0 && x.after <= done {
			x.after, x.sent = 0, now
		}
	}
}

// fetching tells whether a Fetch or FetchSnapshot is under way, and until when.
func (k *calls) fetching(now kafka.Instant) (until kafka.Instant, yes bool) {
	for i := range k.conns {
		if x := &k.conns[i]; x.fetch && x.waiting(now) {
			return x.expires(), true
		}
	}
	return 0, false
}

// granted notes that a pre-vote was granted: the answer to the fetch under way brings
// nothing to the log any more, or that could get longer than the one that was granted:
//
//  1. A resigns. Its farewell has reached B and C; records that it sent before are
//     still on their way.
//  2. B stands as its heir, and C grants the pre-vote.
//  3. The records reach C. B stands in the next epoch, and C refuses: the epoch is
//     lost.
//
// A leader that is there after all has them when it is asked next.
func (k *calls) granted() {
	for i := range k.conns {
		x := &k.conns[i]
		x.outdated = x.fetch && x.call != 0
	}
}

// parted notes that the leader has said farewell. What it answers to a question that
// it was asked before is no sign that it leads: if that counted, whoever it has named
// as its heir would be refused, and everybody wait for F.
func (k *calls) parted(leader kafka.NodeID) {
	x := k.conn(leader)
	x.bygone = x.call != 0
}

// sendRequest sends to a node and names the call.
func sendRequest(c *Core, to kafka.NodeID, at Endpoint, limit time.Duration, body Body) Call {
	call, fresh := c.calls.open(to, c.now, limit, 0, false)
	c.out.Send = append(c.out.Send, Message{Call: call, To: to, At: at, Fresh: fresh, Body: body})
	return call
}

// promised is the write that has to be durable before a fetch may leave: with
// its offset a node that may vote promises what its disk holds. 0 is none.
func promised(c *Core) Seq {
	if !c.cfg.Controller || c.log.durable() {
		return 0
	}
	return c.log.asked
}

// sendFetch sends a Fetch or FetchSnapshot once a write is durable.
func sendFetch(c *Core, to kafka.NodeID, at Endpoint, limit time.Duration, after Seq, body Body) {
	c.longer.asks(to)
	call, fresh := c.calls.open(to, c.now, limit, after, true)
	m := Message{Call: call, To: to, At: at, Fresh: fresh, Body: body}
	if after == 0 {
		c.out.Send = append(c.out.Send, m)
		return
	}
	c.out.SendSync = append(c.out.SendSync, Pending{After: after, Message: m})
}

// addressOf picks the endpoint of a peer's default listener; a peer that names
// others only is reached at its first.
func addressOf(c *Core, e Endpoints) (Endpoint, bool) {
	if at, ok := e.Named(c.cfg.Listener); ok {
		return at, true
	}
	if len(e) == 0 {
		return Endpoint{}, false
	}
	return e[0], true
}

// bootstrapAddress is a place to ask for the leader.
type bootstrapAddress struct {
	id kafka.NodeID // -2, -3, ... for addresses of bootstrap servers
	at Endpoint
}

// bootstrapBuffer has place for as many addresses as there mostly are.
type bootstrapBuffer [6]bootstrapAddress

// bootstraps lists whom to ask for the leader: bootstrap servers but ourselves,
// else the voters that have an address. It is made anew in most steps of who
// follows nobody, so in a buffer, if they fit.
func bootstraps(c *Core, buffer *bootstrapBuffer) []bootstrapAddress {
	all := buffer[:0]
	for i, at := range c.cfg.Bootstrap {
		if !c.cfg.Endpoints.reach(at) {
			all = append(all, bootstrapAddress{kafka.NodeID(-2 - i), at})
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, v := range c.quorum.voters() {
		if at, ok := addressOf(c, v.Endpoints); ok && v.Key.Node != c.cfg.Self.Node {
			all = append(all, bootstrapAddress{v.Key.Node, at})
		}
	}
	return all
}

// fetchFromBootstrap asks the next address of the ring that is ready. The ring
// gives every address a turn, so that one that is dead or does not know the
// leader costs one back-off (KAFKA-20514).
func fetchFromBootstrap(c *Core) {
	var buffer bootstrapBuffer
	all := askable(c, &buffer)
	if len(all) == 0 {
		return
	}
	if c.calls.ring == 0 {
		c.calls.ring = 1 + c.cfg.Rand.IntN(len(all))
	}
	for i := range all {
		b := all[(c.calls.ring+i)%len(all)]
		if c.calls.ready(b.id, c.now) {
			c.calls.ring += i + 1
			sendFetch(c, b.id, b.at, c.cfg.Timing.fetchLimit(), promised(c), fetchRequest(c))
			return
		}
	}
}

// nextBootstrap is when an address of the ring will be ready.
func nextBootstrap(c *Core) kafka.Instant {
	at := kafka.Never
	var buffer bootstrapBuffer
	for _, b := range askable(c, &buffer) {
		at = min(at, c.calls.readyAt(b.id))
	}
	if c.silence.holds(c.now) {
		at = min(at, c.silence.until)
	}
	return at
}
