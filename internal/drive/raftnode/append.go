package raftnode

import (
	"sync"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// maxUnsynced bounds the bytes of proposals that are not durable yet.
const maxUnsynced = 4 * maxBatch

// proposal is one batch on its way to the log.
type proposal struct {
	epoch kafka.Epoch
	count int32
	batch []byte
	reply chan appended // room for one
}

type appended struct {
	end kafka.Offset
	err error
}

func (p *proposal) done(end kafka.Offset, err error) { p.reply <- appended{end, err} }

func (p *proposal) run(l *loop) {
	if l.fault != nil {
		p.done(kafka.NoOffset, ErrStopped)
		return
	}
	l.lastTicket++
	l.proposals[l.lastTicket] = p
	l.step(raft.Propose{Ticket: l.lastTicket, Epoch: p.epoch, Count: p.count})
}

var builders = sync.Pool{New: func() any { return batch.NewBuilder(batch.Options{}) }}

// Append writes framed metadata records as one batch, all or nothing, if this
// node leads the epoch. It returns the end offset of the batch once its place
// in the log is certain, without waiting for the disk or for the commit; the
// caller learns of that from a listener. ErrNotLeader, ErrTooBusy, ErrTooLarge
// and ErrStopped append nothing. The records are copied.
func (n *Node) Append(epoch kafka.Epoch, framed [][]byte) (end kafka.Offset, err error) {
	raw, err := dataBatch(framed, n.clock.ms())
	if err != nil {
		return kafka.NoOffset, err
	}
	if n.unsynced.Add(int64(len(raw))) > maxUnsynced && len(raw) < maxUnsynced {
		n.unsynced.Add(-int64(len(raw)))
		return kafka.NoOffset, ErrTooBusy
	}
	p := &proposal{epoch: epoch, count: int32(len(framed)), batch: raw, reply: n.reply()}
	select {
	case n.inbox <- p:
	case <-n.done:
		return kafka.NoOffset, ErrStopped
	default:
		n.unsynced.Add(-int64(len(raw)))
		return kafka.NoOffset, ErrTooBusy
	}
	select {
	case a := <-p.reply:
		n.replies.Put(p.reply)
		return a.end, a.err
	case <-n.done:
		return kafka.NoOffset, ErrStopped
	}
}

func (n *Node) reply() chan appended {
	if c, ok := n.replies.Get().(chan appended); ok {
		return c
	}
	return make(chan appended, 1)
}

// dataBatch frames records as a batch whose offset and epoch are set later;
// its checksum covers neither.
func dataBatch(framed [][]byte, timestampMs int64) ([]byte, error) {
	if len(framed) == 0 {
		return nil, ErrTooLarge
	}
	b := builders.Get().(*batch.Builder)
	defer builders.Put(b)
	b.Reset(batch.Options{})
	b.Grow(min(roomFor(framed), maxBatch))
	for _, r := range framed {
		if b.Add(timestampMs, nil, r); b.Size() > maxBatch {
			return nil, ErrTooLarge
		}
	}
	return b.Build(make([]byte, 0, b.Size())), nil
}

// roomFor is about what records take in a batch.
func roomFor(framed [][]byte) (bytes int) {
	const around = 16 // lengths, deltas and counts of one record
	for _, r := range framed {
		bytes += len(r) + around
	}
	return bytes
}
