package raftnode

import (
	"net"
	"strconv"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// step hands an event to the core and carries out what follows from it.
func (l *loop) step(ev raft.Event) {
	if l.fault != nil {
		return
	}
	effects := l.core.Step(l.n.clock.now(), ev)
	if l.n.cfg.Observer != nil {
		l.n.cfg.Observer.Stepped(ev, l.core.State(), effects)
	}
	l.carryOut(effects)
	l.giveUpIfDamaged()
}

// carryOut does what a step asks for, in the order that makes it safe: the
// election state is durable before anything is sent.
func (l *loop) carryOut(e raft.Effects) {
	if e.Fault != nil {
		l.fatal(e.Fault)
	}
	if e.Election != nil {
		l.foretell()
		if !l.saveElection(*e.Election) {
			return
		}
	}
	if e.Truncate != nil {
		l.n.writer.put(job{seq: e.Truncate.Seq, kind: jobTruncate, offset: e.Truncate.End})
	}
	for _, a := range e.Append {
		l.append(a)
	}
	if e.Chunk != nil {
		l.n.writer.put(job{seq: e.Chunk.Seq, kind: jobChunk, chunk: *e.Chunk, bytes: l.payload})
	}
	for _, m := range e.Send {
		l.send(m)
	}
	l.shared = sharedRead{}
	l.pending = append(l.pending, e.SendSync...)
	for _, r := range e.Refused {
		l.refuse(r)
	}
	l.show(e)
	for _, t := range e.Trace {
		l.stats.occasions.traced(t.What)
		l.n.cfg.Log.Debug("quorum", "node", l.n.cfg.Self.Node, "what", t.What, "epoch", t.Epoch, "about", t.Node)
	}
}

func (l *loop) saveElection(e raft.Election) bool {
	state := l.core.State()
	err := l.votes.around(l.core.VotesLost(), func() error {
		return saveElection(l.n.cfg.FS, l.n.cfg.Dir, e, state.Level, l.n.cfg.inFile(state.Voters))
	})
	if err != nil {
		l.fatal(err)
		return false
	}
	return true
}

// append hands a batch to the writer, in its final form.
func (l *loop) append(a raft.Append) {
	j := job{seq: a.Seq, kind: jobAppend}
	switch {
	case a.Control != nil:
		raw, err := controlBatch(a, l.n.clock.ms())
		if err != nil {
			l.fatal(err)
			return
		}
		j.bytes = raw
	case a.Ticket != 0:
		p := l.proposals[a.Ticket]
		delete(l.proposals, a.Ticket)
		batch.SetBaseOffset(p.batch, a.Base)
		batch.SetLeaderEpoch(p.batch, a.Epoch)
		j.bytes, j.counted = p.batch, true
		p.done(a.End, nil)
	default:
		j.bytes = cutAt(l.payload, a.End)
	}
	l.stats.appended(a)
	l.n.writer.put(j)
}

func (l *loop) refuse(r raft.Refused) {
	p := l.proposals[r.Ticket]
	delete(l.proposals, r.Ticket)
	l.n.unsynced.Add(-int64(len(p.batch)))
	p.done(kafka.NoOffset, r.Code)
}

// release sends what waited for a write.
func (l *loop) release(done raft.Seq) {
	for len(l.pending) > 0 && l.pending[0].After <= done {
		l.send(l.pending[0].Message)
		l.pending = l.pending[1:]
	}
	if len(l.pending) == 0 {
		l.pending = nil
	}
}

// send puts a request on its way, or answers one.
func (l *loop) send(m raft.Message) {
	l.stats.occasions.sent(m)
	if m.To != kafka.NoNode {
		l.request(m)
		return
	}
	if r, ok := l.calls[m.Call]; ok {
		delete(l.calls, m.Call)
		if a, fetch := m.Body.(raft.FetchAnswer); fetch && a.Snapshot != nil {
			l.offer(a, r)
			return
		}
		r.reply(l.withBytes(m.Body))
	}
}

// withBytes adds to an answer the bytes it stands for. What cannot be read is
// answered as an error; the peer asks again.
func (l *loop) withBytes(body raft.Body) (raft.Body, []byte) {
	switch a := body.(type) {
	case raft.FetchAnswer:
		return l.readRecords(a)
	case raft.SnapshotAnswer:
		return l.n.folder.readChunk(a)
	}
	return body, nil
}

func hostPort(e raft.Endpoint) string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}
