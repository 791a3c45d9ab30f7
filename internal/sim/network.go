package sim

import (
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// firstPort is the port of node 0; addresses differ in nothing else.
const firstPort = 9000

// link is one direction between two nodes.
type link struct {
	cut     bool
	mended  kafka.Instant // when a cut ends; Never for one that stays
	clogged kafka.Instant // until then everything waits
	unheard kafka.Instant // until then answers are lost
	flying  int           // messages under way
}

// conn is a connection: what is sent on it arrives in order, each way.
type conn struct {
	asker, server *node
	askerLife     int
	serverLife    int // 0 until the first request arrives
	closed        bool
	open          []raft.Call      // requests without answer
	last          [2]kafka.Instant // arrival of the latest request and answer
	flying        int              // messages under way
}

func (w *World) link(from, to *node) *link { return &w.links[from.id][to.id] }

// request sends a request of the core, on a new connection if it asks for one.
func (w *World) request(n *node, m *raft.Message) {
	to := w.node(kafka.NodeID(int(m.At.Port) - firstPort))
	w.message(n, "->", to, m.Body)
	c := n.conns[to.id]
	if c == nil || c.closed || m.Fresh {
		c = &conn{asker: n, server: to, askerLife: n.life}
		n.conns[to.id] = c
		w.conns = append(w.conns, c)
	}
	c.open = append(c.open, m.Call)
	w.carry(flight{c: c, call: m.Call, body: m.Body})
}

// arrive hands a request to whatever runs at the other end.
func (w *World) arrive(c *conn, call raft.Call, body raft.Body) {
	to := c.server
	if !to.up || c.serverLife != 0 && c.serverLife != to.life {
		w.close(c)
		return
	}
	c.serverLife = to.life
	to.lastAsked++
	to.asked[to.lastAsked] = inbound{c, call, body}
	w.message(to, "hears", c.asker, body)
	w.remember(c.asker, to, body)
	if r, asks := body.(raft.VoteRequest); asks && r.PreVote && (to.old || c.asker.old) {
		w.carry(flight{c: c, way: 1, call: call, unknown: true})
		return
	}
	if r, asks := body.(raft.VersionsRequest); asks { // this is not for the core
		in := to.asked[to.lastAsked]
		delete(to.asked, to.lastAsked)
		w.answer(to, in, versionsOf(to, r), nil)
		return
	}
	to.step(raft.Received{Call: to.lastAsked, Body: body})
}

// answer sends an answer back on the connection its request came on.
func (w *World) answer(n *node, in inbound, body raft.Body, brings batches) {
	w.message(n, "->", in.conn.asker, body)
	w.carry(flight{c: in.conn, way: 1, call: in.call, body: body, brings: brings})
}

// comeBack hands an answer to the asker, in a scene perhaps later.
func (w *World) comeBack(f flight) {
	c := f.c
	if late := w.lateness(c.server, f.body); late > 0 {
		c.last[1] = max(c.last[1], w.now.Add(late)) // what follows waits behind it
		w.queue.put(happening{at: c.last[1], who: c.asker, life: anyLife, run: func() { w.answered(f) }})
		return
	}
	w.answered(f)
}

// answered hands an answer to the asker, if that process is still there.
func (w *World) answered(f flight) {
	c := f.c
	if c.closed || !c.asker.up || c.asker.life != c.askerLife {
		return
	}
	c.answered(f.call)
	w.message(c.asker, "hears", c.server, f.body)
	c.asker.stepWith(raft.Answered{Call: f.call, Body: f.body}, f.brings)
}

// unsupported tells the asker that one of the two does not know this request.
func (w *World) unsupported(c *conn, call raft.Call) {
	if !c.asker.up || c.asker.life != c.askerLife {
		return
	}
	c.answered(call)
	w.note("%d hears that %d does not know this version", c.asker.id, c.server.id)
	c.asker.step(raft.Unanswered{Call: call, Code: kerr.UnsupportedVersion})
}

// versionsOf is what a node answers to ApiVersions.
func versionsOf(n *node, r raft.VersionsRequest) raft.VersionsAnswer {
	if r.Node != n.id {
		return raft.VersionsAnswer{Err: kerr.RebootstrapRequired, MaxLevel: -1}
	}
	return raft.VersionsAnswer{MaxLevel: 1}
}

func (c *conn) answered(call raft.Call) {
	for i, open := range c.open {
		if open == call {
			c.open = append(c.open[:i], c.open[i+1:]...)
			return
		}
	}
}

// flight is a message on its way along a connection, way 0 to the server and way 1
// back.
type flight struct {
	c       *conn
	way     int
	call    raft.Call // the asker's
	body    raft.Body
	brings  batches // of an answer
	unknown bool    // it only says that the request is not known
	counted bool    // among those under way; a repeated one is not
}

func (f *flight) ends() (from, to *node) {
	if f.way == 1 {
		return f.c.server, f.c.asker
	}
	return f.c.asker, f.c.server
}

// carry takes a message along its connection, through everything the network does
// to it.
func (w *World) carry(f flight) {
	c := f.c
	from, to := f.ends()
	at := max(w.now, from.until).Add(w.delay())
	l := w.link(from, to)
	if l.cut {
		if l.mended == kafka.Never || !w.plan.Active[Resent] {
			return
		}
		at = l.mended.Add(w.delay())
	}
	if f.way == 1 && l.unheard > w.now {
		w.faults[Unheard]++
		return
	}
	if w.chance(w.plan.Lost, 1000, Lost) {
		return
	}
	if w.chaos && w.plan.Active[Crowded] && l.flying >= w.plan.Room {
		w.faults[Crowded]++
		return
	}
	for w.chance(w.plan.Resent, 1000, Resent) {
		at = at.Add(200 * time.Millisecond)
	}
	at = max(at, l.clogged, c.last[f.way]+1)
	c.last[f.way] = at
	l.flying++
	c.flying++
	f.counted = true
	w.depart(at, to, f)
	if w.chance(w.plan.Repeated, 1000, Repeated) {
		f.counted = false
		w.depart(at.Add(w.delay()+w.delay()), to, f)
	}
}

// depart lets a message arrive at a moment.
func (w *World) depart(at kafka.Instant, to *node, f flight) {
	var m *flight
	if last := len(w.landed) - 1; last >= 0 {
		m, w.landed = w.landed[last], w.landed[:last]
	} else {
		m = new(flight)
	}
	*m = f
	if w.chaos {
		w.underWay = max(w.underWay, at+1)
	}
	w.queue.put(happening{at: at, who: to, life: anyLife, message: m})
}

// land lets a message arrive, if its connection is still there.
func (w *World) land(m *flight) {
	f := *m
	*m = flight{}
	w.landed = append(w.landed, m)
	from, to := f.ends()
	if f.counted {
		w.link(from, to).flying--
		f.c.flying--
	}
	switch {
	case f.c.closed:
	case w.chance(w.plan.Garbled, 10000, Garbled):
		w.note("-- a frame of %d to %d is garbled", from.id, to.id)
		w.close(f.c)
	case f.way == 0:
		w.arrive(f.c, f.call, f.body)
	case f.unknown:
		w.unsupported(f.c, f.call)
	default:
		w.comeBack(f)
	}
}

// longestDelay is how long a message takes at most, if it is not late.
func (w *World) longestDelay() time.Duration { return 1100*time.Microsecond + w.plan.Far }

func (w *World) delay() time.Duration {
	d := 100*time.Microsecond + time.Duration(w.rng.Int64N(int64(time.Millisecond+w.plan.Far)))
	if w.plan.Active[Late] && w.chaos {
		w.faults[Late]++
		d += time.Duration(w.rng.ExpFloat64() * float64(w.plan.Delay))
	}
	return d
}

// close ends a connection: its messages are gone, and the asker learns that
// there will be no answers.
func (w *World) close(c *conn) {
	if c.closed {
		return
	}
	c.closed = true
	n := c.asker
	for _, call := range c.open {
		w.queue.put(happening{at: w.now.Add(time.Millisecond), who: n, life: c.askerLife, run: func() {
			w.note("%d hears nothing more from %d", n.id, c.server.id)
			n.step(raft.Unanswered{Call: call, Code: kerr.BrokerNotAvailable})
		}})
	}
	if len(c.open) > 0 && !c.server.up {
		w.mourn(c)
	}
	c.open = nil
}

// mourn lets the asker find out that the process which led it is gone: the
// connection was reset, and two attempts, 20 ms apart, are refused (B3).
func (w *World) mourn(c *conn) {
	n, dead, epoch, life := c.asker, c.server, c.asker.state.Election.Epoch, c.server.life
	w.queue.put(happening{at: w.now.Add(22 * time.Millisecond), who: n, life: c.askerLife, run: func() {
		if dead.up || dead.life != life {
			return
		}
		w.note("%d finds that %d is gone", n.id, dead.id)
		n.step(raft.Dead{Leader: dead.id, Epoch: epoch})
	}})
}

// dropConns ends the connections of a process that is gone.
func (w *World) dropConns(n *node) {
	for _, c := range w.conns {
		if c.asker == n {
			c.open = nil
		}
		if c.asker == n || c.server == n {
			w.close(c)
		}
	}
	w.forgetClosed()
}

func (w *World) forgetClosed() {
	kept := w.conns[:0]
	for _, c := range w.conns {
		if !c.closed && c.asker.conns[c.server.id] == c {
			kept = append(kept, c)
		}
	}
	clear(w.conns[len(kept):])
	w.conns = kept
}
