package raftnode

import (
	"net"
	"strconv"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// step hands an event to the core and carries out what follows from it.
func (n *Node) step(ev raft.Event) {
	if n.fault != nil {
		return
	}
	n.carryOut(n.core.Step(n.now(), ev))
}

// carryOut does what a step asks for, in the order that makes it safe: the
// election state is durable before anything is sent.
func (n *Node) carryOut(e raft.Effects) {
	if e.Fault != nil {
		n.fatal(e.Fault)
	}
	if e.Election != nil && !n.saveElection(*e.Election) {
		return
	}
	if e.Truncate != nil {
		n.writer.put(job{seq: e.Truncate.Seq, kind: jobTruncate, offset: e.Truncate.End})
	}
	for _, a := range e.Append {
		n.append(a)
	}
	if e.Chunk != nil {
		n.writer.put(job{seq: e.Chunk.Seq, kind: jobChunk, chunk: *e.Chunk, bytes: n.payload})
	}
	for _, m := range e.Send {
		n.send(m)
	}
	n.pending = append(n.pending, e.SendSync...)
	for _, r := range e.Refused {
		n.refuse(r)
	}
	n.show(e)
	for _, t := range e.Trace {
		n.cfg.Log.Debug("quorum", "node", n.cfg.Self.Node, "what", t.What, "epoch", t.Epoch, "about", t.Node)
	}
}

func (n *Node) saveElection(e raft.Election) bool {
	if err := saveElection(n.cfg.FS, n.cfg.Dir, e, n.core.Level(), n.core.Voters()); err != nil {
		n.fatal(err)
		return false
	}
	return true
}

// append hands a batch to the writer, in its final form.
func (n *Node) append(a raft.Append) {
	j := job{seq: a.Seq, kind: jobAppend}
	switch {
	case a.Control != nil:
		raw, err := controlBatch(a, n.nowMs())
		if err != nil {
			n.fatal(err)
			return
		}
		j.bytes = raw
	case a.Ticket != 0:
		p := n.proposals[a.Ticket]
		delete(n.proposals, a.Ticket)
		batch.SetBaseOffset(p.batch, a.Base)
		batch.SetLeaderEpoch(p.batch, a.Epoch)
		j.bytes, j.counted = p.batch, true
		p.done(a.End, nil)
	default:
		j.bytes = cutAt(n.payload, a.End)
	}
	n.stats.appended(a)
	n.writer.put(j)
}

func (n *Node) refuse(r raft.Refused) {
	p := n.proposals[r.Ticket]
	delete(n.proposals, r.Ticket)
	n.unsynced.Add(-int64(len(p.batch)))
	p.done(kafka.NoOffset, r.Code)
}

// release sends what waited for a write.
func (n *Node) release(done raft.Seq) {
	for len(n.pending) > 0 && n.pending[0].After <= done {
		n.send(n.pending[0].Message)
		n.pending = n.pending[1:]
	}
	if len(n.pending) == 0 {
		n.pending = nil
	}
}

// send puts a request on its way, or answers one.
func (n *Node) send(m raft.Message) {
	if m.To != kafka.NoNode {
		n.request(m)
		return
	}
	if r, ok := n.calls[m.Call]; ok {
		delete(n.calls, m.Call)
		r.reply(n.withBytes(m.Body))
	}
}

// withBytes adds to an answer the bytes it stands for. What cannot be read is
// answered as an error; the peer asks again.
func (n *Node) withBytes(body raft.Body) (raft.Body, []byte) {
	switch a := body.(type) {
	case raft.FetchAnswer:
		return n.readRecords(a)
	case raft.SnapshotAnswer:
		return n.readChunk(a)
	}
	return body, nil
}

func hostPort(e raft.Endpoint) string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}
