package raftnode

import (
	"errors"
	"fmt"
	"math"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/core/raft"
)

// errContradicts is damage that no checksum shows and no crash explains: a batch
// is whole, and where it stands or the epoch it is of cannot be. The checksum of
// a batch covers what follows it, from the attributes on; see
// docs/design/lost-folder.md for what each of the fields before it is held against.
var errContradicts = fmt.Errorf("%w: the checksum is right", batch.ErrCorrupt)

// spanner describes batches for the core, one after the other.
type spanner struct {
	span  raft.Span
	begun bool
	// limit is the highest epoch that a batch may be of.
	limit kafka.Epoch
	data  bool // there are records of metadata, not only of the quorum itself
}

func newSpanner(limit kafka.Epoch) spanner { return spanner{limit: limit} }

// spanOf describes whole batches that lie back to back. It stops before the
// first one that is cut short, out of order or damaged, and says why; whole is
// what comes before it.
func spanOf(b []byte) (s raft.Span, whole []byte, err error) {
	sp := newSpanner(math.MaxInt32) // the core knows the epoch of who sent it
	size := 0
	for size < len(b) {
		n, err := sp.next(b[size:])
		if errors.Is(err, batch.ErrShort) {
			break // a fetch cuts its last batch where its limit falls
		}
		if err != nil {
			return sp.span, b[:size], err
		}
		size += n
	}
	return sp.span, b[:size], nil
}

// next checks the batch that begins b, adds it and returns its size.
func (s *spanner) next(b []byte) (int, error) {
	h, err := batch.ParseHeader(b)
	switch {
	case err != nil:
		return 0, err
	case h.Size() > len(b):
		return 0, batch.ErrShort
	case !batch.CheckCRC(b[:h.Size()]):
		return 0, fmt.Errorf("batch at offset %d: %w: checksum", h.BaseOffset, batch.ErrCorrupt)
	case h.Codec() != batch.None || h.LastOffsetDelta < 0 || h.BaseOffset < 0:
		return 0, fmt.Errorf("batch at offset %d: %w: not a batch of the metadata log", h.BaseOffset, batch.ErrCorrupt)
	case s.begun && h.BaseOffset != s.span.End:
		return 0, fmt.Errorf("%w, but the batch says offset %d and %d belongs there", errContradicts, h.BaseOffset, s.span.End)
	}
	if err := s.checkEpoch(h.LeaderEpoch); err != nil {
		return 0, err
	}
	if err := s.add(h, b[:h.Size()]); err != nil {
		return 0, err
	}
	return h.Size(), nil
}

// checkEpoch holds an epoch against those before it and against the limit.
func (s *spanner) checkEpoch(epoch kafka.Epoch) error {
	last := kafka.Epoch(0)
	if n := len(s.span.Epochs); n > 0 {
		last = s.span.Epochs[n-1].Epoch
	}
	switch {
	case epoch < last:
		return fmt.Errorf("%w, but the leader epoch falls from %d to %d, in this batch or one before it", errContradicts, last, epoch)
	case epoch > s.limit:
		return fmt.Errorf("%w, but the leader epoch is %d, and by %s this node has seen none above %d", errContradicts, epoch, quorumStateName, s.limit)
	}
	return nil
}

func (s *spanner) add(h batch.Header, b []byte) error {
	if h.Control() {
		if err := s.control(b); err != nil {
			return err
		}
	}
	s.data = s.data || !h.Control()
	if !s.begun {
		s.span.Base, s.begun = h.BaseOffset, true
	}
	s.span.End = h.End()
	n := len(s.span.Epochs)
	if n == 0 || s.span.Epochs[n-1].Epoch != h.LeaderEpoch {
		s.span.Epochs = append(s.span.Epochs, raft.EpochStart{Epoch: h.LeaderEpoch, Start: h.BaseOffset})
	}
	return nil
}

func (s *spanner) control(b []byte) error {
	return readControl(b, func(offset kafka.Offset, m metarec.Message) {
		switch m := m.(type) {
		case *metarec.VotersRecord:
			s.span.Voters = append(s.span.Voters, raft.At[raft.Voters]{Offset: offset, Value: votersOf(m)})
		case *metarec.KRaftVersionRecord:
			s.span.Levels = append(s.span.Levels, raft.At[int16]{Offset: offset, Value: m.KRaftVersion})
		}
	})
}

// cutAt gives the batches that end at or below an offset.
func cutAt(b []byte, end kafka.Offset) []byte {
	size := 0
	for h, one := range batch.All(b) {
		if h.End() > end {
			break
		}
		size += len(one)
	}
	return b[:size]
}
