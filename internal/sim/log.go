package sim

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/raft"
)

// batch is a record batch. Its content is the ticket of the proposal it came
// from, or 0 with the voters and the level that a leader wrote.
type batch struct {
	base, end kafka.Offset
	epoch     kafka.Epoch
	ticket    uint64
	voters    raft.Voters // nil when it has none
	level     *int16
}

// same tells whether two batches have equal bytes.
func (b batch) same(o batch) bool {
	return b.base == o.base && b.end == o.end && b.epoch == o.epoch && b.ticket == o.ticket && len(b.voters) == len(o.voters)
}

// batches is a log without gaps, or a part of one.
type batches []batch

// from is the index of the first batch that ends above an offset.
func (l batches) from(offset kafka.Offset) int {
	if n := len(l); n == 0 || l[n-1].end <= offset { // mostly it is the end
		return n
	}
	below, i := -1, len(l)-1
	for i-below > 1 {
		if half := (below + i) / 2; l[half].end <= offset {
			below = half
		} else {
			i = half
		}
	}
	return i
}

// at gives the batch that begins at an offset.
func (l batches) at(base kafka.Offset) (batch, bool) {
	if i := l.from(base); i < len(l) && l[i].base == base {
		return l[i], true
	}
	return batch{}, false
}

// below are the batches that end at an offset or before.
func (l batches) below(end kafka.Offset) batches {
	i := l.from(end)
	return l[:i:i]
}

func (l batches) end(start kafka.Offset) kafka.Offset {
	if len(l) == 0 {
		return start
	}
	return l[len(l)-1].end
}

// span tells of batches what the core has to know. Of control records the
// voters are the last, the level stands before them.
func (l batches) span() raft.Span {
	var s raft.Span
	for i, b := range l {
		if i == 0 {
			s.Base = b.base
		}
		s.End = b.end
		if n := len(s.Epochs); n == 0 || s.Epochs[n-1].Epoch != b.epoch {
			s.Epochs = append(s.Epochs, raft.EpochStart{Epoch: b.epoch, Start: b.base})
		}
		if b.level != nil {
			s.Levels = append(s.Levels, raft.At[int16]{Offset: b.end - 2, Value: *b.level})
		}
		if b.voters != nil {
			s.Voters = append(s.Voters, raft.At[raft.Voters]{Offset: b.end - 1, Value: b.voters})
		}
	}
	return s
}
