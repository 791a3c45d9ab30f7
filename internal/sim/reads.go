package sim

import (
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/raft"
)

// fetched adds to an answer the records it stands for, and what disks do to
// them. Who gets them checks each batch, and that they follow one another: of
// damaged ones it takes those before the damage.
func (n *node) fetched(a raft.FetchAnswer) (raft.Body, batches) {
	brings := n.read(a.Read)
	a.Read = raft.Read{}
	w := n.w
	switch {
	case len(brings) == 0:
	case w.chance(w.plan.BadRead, 1000, FailedRead):
		w.note("%d cannot read records", n.id)
		return raft.Refuse(raft.FetchRequest{}, kerr.UnknownServerError, a.Hint), nil
	case w.chance(w.plan.BadRead, 1000, FlippedBit):
		brings = brings[:w.rng.IntN(len(brings))]
		w.note("%d reads a flipped bit: %d batches are good", n.id, len(brings))
	case w.chance(w.plan.BadRead, 1000, Misread):
		at := w.rng.IntN(len(n.disk.log))
		brings = n.disk.log[at : at+1 : at+1]
		w.note("%d reads what stands at %d", n.id, brings[0].base)
	}
	a.Span = brings.span()
	return a, brings
}

// read gives records for an answer, synced or not (B7).
func (n *node) read(r raft.Read) batches {
	if r.From >= r.Below {
		return nil
	}
	log := n.disk.log.below(r.Below)
	log = log[log.from(r.From):]
	most := min(len(log), n.w.plan.Batches)
	return log[:most:most]
}
