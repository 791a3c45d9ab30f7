package sim

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// sent is a request that has arrived, and may do so once more.
type sent struct {
	from, to *node
	body     raft.Body
}

// pastRequests is how many of them are remembered.
const pastRequests = 64

// remember keeps a request for later.
func (w *World) remember(from, to *node, body raft.Body) {
	if !w.plan.Active[Replayed] || epochOf(body) == kafka.NoEpoch {
		return
	}
	if len(w.past) < pastRequests {
		w.past = append(w.past, sent{from, to, body})
		return
	}
	w.past[w.happened%pastRequests] = sent{from, to, body}
}

// replay lets a request of an epoch that is over for its receiver arrive again,
// on a connection on which nobody waits for an answer.
func (w *World) replay() bool {
	if len(w.past) == 0 {
		return false
	}
	s := w.past[w.rng.IntN(len(w.past))]
	if !s.to.up || s.to.until > w.now || epochOf(s.body) >= s.to.disk.election.Epoch {
		return false
	}
	w.note("-- a request of %d in an epoch that is over arrives once more", s.from.id)
	w.message(s.to, "hears", s.from, s.body)
	s.to.lastAsked++
	s.to.asked[s.to.lastAsked] = inbound{&conn{asker: s.from, server: s.to, closed: true}, s.to.lastAsked, s.body}
	s.to.step(raft.Received{Call: s.to.lastAsked, Body: s.body})
	return true
}

// epochOf is the epoch of a request between members of a quorum, or NoEpoch.
func epochOf(body raft.Body) kafka.Epoch {
	switch r := body.(type) {
	case raft.VoteRequest:
		return r.Epoch
	case raft.BeginRequest:
		return r.Epoch
	case raft.EndRequest:
		return r.Epoch
	case raft.FetchRequest:
		return r.Epoch
	case raft.SnapshotRequest:
		return r.Epoch
	}
	return kafka.NoEpoch
}
