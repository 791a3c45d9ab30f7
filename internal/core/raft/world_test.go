package raft

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
)

// world is a few cores with disks and a network between them. Nothing moves in
// it by itself: a test delivers each message and lets time pass.
type world struct {
	now   kafka.Instant
	nodes []*member
	net   []envelope
	out   strings.Builder
	// quiet leaves messages and writes out of the output.
	quiet bool
	cuts  map[[2]kafka.NodeID]bool // from, to
}

// envelope is a request or an answer under way.
type envelope struct {
	from, to kafka.NodeID
	call     Call // the asker's
	answer   bool
	fresh    bool // on a new connection
	body     Body
	batches  []stored // of a FetchAnswer
}

// stored is a batch in a log.
type stored struct {
	base, end kafka.Offset
	epoch     kafka.Epoch
	voters    Voters // nil when it has none
	level     *int16
}

// disk is what survives a restart.
type disk struct {
	election  Election
	noFile    bool
	marked    bool // votes are lost
	start     kafka.Offset
	log       []stored // durable and written
	synced    kafka.Offset
	snapshots []Snapshot
	shapes    map[SnapshotID]stored // voters and level of a snapshot
}

// member is one node of the world.
type member struct {
	w        *world
	id       kafka.NodeID
	cfg      Config
	core     *Core
	disk     disk
	queue    []func() // writes the disk has not done
	slow     bool     // the disk waits for "write" or "sync"
	busy     bool
	lazy     bool // the disk writes but does not sync
	owed     Seq  // the last write that waits for its sync
	down     bool
	old      bool // knows Vote up to version 1 only
	deadline kafka.Instant
	pending  []Pending
	asked    map[Call]envelope // requests that wait for our answer
	lastIn   Call
	payload  map[Call][]stored
	commit   kafka.Offset
	role     Role
	maxLevel int // kraft.version that it supports at most
}

func endpointsOf(id kafka.NodeID) Endpoints {
	return Endpoints{{Name: "CONTROLLER", Host: "host", Port: uint16(9000 + int(id))}}
}

func dirOf(id kafka.NodeID) kafka.DirID { return kafka.DirID{0: 0xd, 15: byte(id)} }

func (w *world) printf(format string, args ...any) {
	if !w.quiet {
		fmt.Fprintf(&w.out, format+"\n", args...)
	}
}

func (w *world) node(id kafka.NodeID) *member {
	i := slices.IndexFunc(w.nodes, func(m *member) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	return w.nodes[i]
}

// add makes a node with an empty disk; it is started by boot.
func (w *world) add(id kafka.NodeID, voters Voters, controller bool, seed uint64) *member {
	m := &member{w: w, id: id, maxLevel: maxLevel, cfg: Config{
		Self: kafka.ReplicaKey{Node: id, Dir: dirOf(id)}, Controller: controller, Endpoints: endpointsOf(id),
		Listener: "CONTROLLER", Static: voters, Timing: DefaultTiming(), Rand: rand.New(rand.NewPCG(seed, uint64(id))),
	}}
	m.disk = disk{election: NoElection(), noFile: true, shapes: map[SnapshotID]stored{}}
	w.nodes = append(w.nodes, m)
	return m
}

// boot starts a node from its disk. What was not synced is gone.
func (m *member) boot() error {
	d := &m.disk
	m.cfg.Unix = firstDay + int64(time.Duration(m.w.now)/time.Second)
	d.log = slices.DeleteFunc(d.log, func(b stored) bool { return b.end > d.synced })
	st := Stored{Election: d.election, LogStart: d.start, LogEnd: d.start, Snapshots: slices.Clone(d.snapshots)}
	from := kafka.Offset(-1)
	if n := len(d.snapshots); n > 0 {
		id := d.snapshots[n-1].ID
		from = id.EndOffset - 1
		if shape := d.shapes[id]; shape.voters != nil {
			st.Voters = append(st.Voters, At[Voters]{from, shape.voters})
			st.Levels = append(st.Levels, At[int16]{from, *shape.level})
		}
	}
	span := describe(d.log)
	st.Epochs = span.Epochs
	for _, v := range span.Voters {
		if v.Offset > from {
			st.Voters = append(st.Voters, v)
		}
	}
	for _, v := range span.Levels {
		if v.Offset > from {
			st.Levels = append(st.Levels, v)
		}
	}
	if n := len(d.log); n > 0 {
		st.LogEnd = d.log[n-1].end
	}
	st.Forgotten = d.noFile && st.LogEnd > 0 || d.marked
	m.lazy, m.owed = false, 0
	core, effects, err := New(m.w.now, m.cfg, st)
	if err != nil {
		return err
	}
	m.core, m.down, m.queue, m.pending = core, false, nil, nil
	m.asked, m.payload, m.commit, m.role = map[Call]envelope{}, map[Call][]stored{}, kafka.NoOffset, ""
	m.carryOut(effects)
	return nil
}

// save makes an election state durable, with the mark of lost votes.
func (m *member) save(e Election) {
	lost := m.core.VotesLost()
	if lost && !m.disk.marked {
		m.disk.marked = true
		m.w.printf("%d marks that votes are lost", m.id)
	}
	m.disk.election, m.disk.noFile = e, false
	m.w.printf("%d saves %s", m.id, printElection(e))
	if !lost && m.disk.marked {
		m.disk.marked = false
		m.w.printf("%d removes the mark", m.id)
	}
}

// describe makes the span of batches. Of control records the voters are the
// last, the level stands before them.
func describe(log []stored) Span {
	var s Span
	for i, b := range log {
		if i == 0 {
			s.Base = b.base
		}
		s.End = b.end
		if n := len(s.Epochs); n == 0 || s.Epochs[n-1].Epoch != b.epoch {
			s.Epochs = append(s.Epochs, EpochStart{b.epoch, b.base})
		}
		if b.level != nil {
			s.Levels = append(s.Levels, At[int16]{b.end - 2, *b.level})
		}
		if b.voters != nil {
			s.Voters = append(s.Voters, At[Voters]{b.end - 1, b.voters})
		}
	}
	return s
}

func (m *member) step(ev Event) {
	if !m.down {
		m.carryOut(m.core.Step(m.w.now, ev))
	}
}

func (m *member) carryOut(e Effects) {
	m.deadline = e.Deadline
	if e.Fault != nil {
		m.w.printf("%d fault: %v", m.id, e.Fault)
	}
	if e.Election != nil {
		m.save(*e.Election)
	}
	if role := m.core.role.name(); role != m.role {
		m.role = role
		leader := m.core.State().Leader
		m.w.printf("%d is %s epoch=%d leader=%d", m.id, role, m.core.election.Epoch, leader)
	}
	m.write(e)
	for _, msg := range e.Send {
		m.send(msg)
	}
	for _, p := range e.SendSync {
		m.w.printf("%d holds a message for write %d", m.id, p.After)
		m.pending = append(m.pending, p)
	}
	for _, r := range e.Refused {
		m.w.printf("%d refuses the proposal: %v", m.id, r.Code)
	}
	if e.Commit > m.commit {
		m.commit = e.Commit
		m.w.printf("%d commits %d", m.id, e.Commit)
	}
	if !m.slow {
		m.drain()
	}
}

// write queues what the disk has to do.
func (m *member) write(e Effects) {
	if t := e.Truncate; t != nil {
		m.w.printf("%d truncates to %d", m.id, t.End)
		m.queue = append(m.queue, func() {
			m.disk.log = slices.DeleteFunc(m.disk.log, func(b stored) bool { return b.end > t.End })
			m.disk.synced = min(m.disk.synced, t.End)
			m.done(t.Seq)
		})
	}
	for _, a := range e.Append {
		batches := m.batches(a)
		m.w.printf("%d appends %d..%d@%d%s", m.id, a.Base, a.End, a.Epoch, printControl(a.Control))
		m.queue = append(m.queue, func() {
			m.disk.log = append(m.disk.log, batches...)
			m.done(a.Seq)
		})
	}
	if c := e.Chunk; c != nil {
		m.w.printf("%d stores the snapshot from byte %d", m.id, c.Position)
		if c.Last {
			id := c.ID
			m.queue = append(m.queue, func() { m.install(*c, id) })
		}
	}
}

func (m *member) batches(a Append) []stored {
	switch {
	case a.From != 0:
		return slices.DeleteFunc(slices.Clone(m.payload[a.From]), func(b stored) bool { return b.end > a.End })
	case a.Control != nil:
		return []stored{{a.Base, a.End, a.Epoch, a.Control.Set, a.Control.Level}}
	}
	return []stored{{base: a.Base, end: a.End, epoch: a.Epoch}}
}

func (m *member) install(c Chunk, id SnapshotID) {
	source := m.w.snapshotShape(id)
	m.disk.log, m.disk.start, m.disk.synced = nil, id.EndOffset, id.EndOffset
	snapshot := Snapshot{id, snapshotSize}
	m.disk.snapshots, m.disk.shapes[id] = []Snapshot{snapshot}, source
	ev := Installed{Seq: c.Seq, Snapshot: snapshot}
	if source.voters != nil {
		ev.Voters = []At[Voters]{{id.EndOffset - 1, source.voters}}
		ev.Levels = []At[int16]{{id.EndOffset - 1, *source.level}}
	}
	m.step(ev)
}

func (w *world) snapshotShape(id SnapshotID) stored {
	for _, m := range w.nodes {
		if s, ok := m.disk.shapes[id]; ok {
			return s
		}
	}
	return stored{}
}

// done reports a write and its sync.
func (m *member) done(seq Seq) {
	end := m.disk.start
	if n := len(m.disk.log); n > 0 {
		end = m.disk.log[n-1].end
	}
	m.step(Written{seq, end})
	m.owed = seq
	if !m.lazy {
		m.sync()
	}
}

// sync makes durable what is written.
func (m *member) sync() {
	seq, end := m.owed, m.disk.start
	if n := len(m.disk.log); n > 0 {
		end = m.disk.log[n-1].end
	}
	m.owed, m.disk.synced = 0, end
	m.step(Synced{seq, end})
	for len(m.pending) > 0 && m.pending[0].After <= seq {
		msg := m.pending[0].Message
		m.pending = m.pending[1:]
		m.send(msg)
	}
}

// drain lets the disk finish.
func (m *member) drain() {
	if m.busy {
		return // a step on the way of a finished write
	}
	m.busy = true
	defer func() { m.busy = false }()
	for len(m.queue) > 0 && !m.down {
		job := m.queue[0]
		m.queue = m.queue[1:]
		job()
	}
}

func (m *member) send(msg Message) {
	if msg.To == kafka.NoNode {
		q, ok := m.asked[msg.Call]
		if !ok {
			return
		}
		delete(m.asked, msg.Call)
		e := envelope{from: m.id, to: q.from, call: q.call, answer: true, body: msg.Body}
		if a, isFetch := msg.Body.(FetchAnswer); isFetch {
			e.batches = m.read(a.Read)
		}
		m.w.post(e)
		return
	}
	m.w.post(envelope{from: m.id, to: m.w.nodeAt(msg.At), call: msg.Call, fresh: msg.Fresh, body: msg.Body})
}

// nodeAt is who listens at an address; one where nobody does gets a number of
// its own.
func (w *world) nodeAt(at Endpoint) kafka.NodeID {
	for _, m := range w.nodes {
		if m.cfg.Endpoints.reach(at) {
			return m.id
		}
	}
	return kafka.NodeID(int(at.Port) - 9000)
}

func (m *member) read(r Read) []stored {
	var out []stored
	for _, b := range m.disk.log {
		if b.end > r.From && b.end <= r.Below {
			out = append(out, b)
		}
	}
	return out
}

func (w *world) post(e envelope) {
	if !w.quiet {
		w.printf("%s", printEnvelope(e))
	}
	if w.node(e.to) != nil && (!e.answer || e.call != 0) && !w.cuts[[2]kafka.NodeID{e.from, e.to}] {
		w.net = append(w.net, e)
	}
}

// handOver delivers one message.
func (w *world) handOver(e envelope) {
	to := w.node(e.to)
	if to == nil || to.down {
		if !e.answer {
			w.answerWith(e, kerr.BrokerNotAvailable)
		}
		return
	}
	if r, asks := e.body.(VersionsRequest); asks && !e.answer {
		w.post(envelope{from: e.to, to: e.from, call: e.call, answer: true, body: to.versions(r)})
		return
	}
	if w.speaksOld(&e, to) {
		return
	}
	if !e.answer {
		to.lastIn++
		to.asked[to.lastIn] = e
		to.step(Received{to.lastIn, e.body})
		return
	}
	body := e.body
	if a, ok := body.(FetchAnswer); ok {
		a.Span, a.Read = describe(e.batches), Read{}
		body = a
		to.payload[e.call] = e.batches
	}
	to.step(Answered{e.call, body})
}

// versions is what a node answers to ApiVersions.
func (m *member) versions(r VersionsRequest) VersionsAnswer {
	if r.Node != m.id {
		return VersionsAnswer{Err: kerr.RebootstrapRequired}
	}
	return VersionsAnswer{MinLevel: 0, MaxLevel: int16(m.maxLevel)}
}

// answerWith tells the asker that there is no answer.
func (w *world) answerWith(e envelope, code kerr.Code) {
	if from := w.node(e.from); from != nil {
		from.step(Unanswered{e.call, code})
	}
}

// pass lets time go by; nodes act at their deadlines, in order.
func (w *world) pass(d time.Duration) {
	until := w.now.Add(d)
	for turns := 0; ; turns++ {
		next := w.earliest()
		if next == nil || next.deadline > until {
			break
		}
		if turns > 10000 {
			panic(fmt.Sprintf("node %d, %s, is busy doing nothing: its deadline is always now", next.id, next.core.role.name()))
		}
		w.now = max(w.now, next.deadline)
		next.step(Passed{})
	}
	w.now = until
}

func (w *world) earliest() *member {
	var next *member
	for _, m := range w.nodes {
		if !m.down && (next == nil || m.deadline < next.deadline) {
			next = m
		}
	}
	return next
}
