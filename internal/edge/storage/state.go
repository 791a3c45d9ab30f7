package storage

import (
	"slices"
	"sync"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// state is what is known of a log without the disk. Who reads a log needs
// nothing else to know where its bytes lie.
type state struct {
	mu sync.RWMutex

	// Guarded by mu, changed by the writer only.
	segments  []*segment // never empty; ordered; the last is the active one. Replaced, not changed
	start     kafka.Offset
	end       kafka.Offset
	epochs    epochs
	producers producers
	// recovery is the offset below which all is synced.
	recovery     kafka.Offset
	epochsSaved  bool // the epoch file was synced with the present content
	epochsBehind bool // the epoch file lacks something, see saveEpochs
	dirSaved     bool // the folder was synced since a file was made, renamed or removed
	bornSaved    bool // the topic id and the folder's own entry were synced
}

// Start is the log start offset: the first that can be read.
func (s *state) Start() kafka.Offset {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.start
}

// End is the log end offset: that of the next record.
func (s *state) End() kafka.Offset {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.end
}

// FirstSegment is the base offset of the oldest segment. A log start above it
// has to be kept in the directory's checkpoint.
func (s *state) FirstSegment() kafka.Offset {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.segments[0].base
}

// ActiveSegment is the base offset of the segment that is appended to. A fetch
// below it reads a segment that no longer grows.
func (s *state) ActiveSegment() kafka.Offset {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.active().base
}

func (s *state) active() *segment { return s.segments[len(s.segments)-1] }

func (s *state) isActive(x *segment) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.active() == x
}

// Segments is how many segments the log has.
func (s *state) Segments() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.segments)
}

// RecoveryPoint is the offset below which every byte is synced.
func (s *state) RecoveryPoint() kafka.Offset {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.recovery
}

// LastEpoch is the newest leader epoch in the history, NoEpoch without any.
func (s *state) LastEpoch() kafka.Epoch {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.epochs.last()
}

// Epochs gives a copy of the history of leader epochs.
func (s *state) Epochs() []EpochStart {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append([]EpochStart(nil), s.epochs.list...)
}

// EpochEnd answers OffsetForLeaderEpoch: the largest known epoch at or below
// the one asked for and the offset where it ends; (NoEpoch, NoOffset) for an
// epoch that is newer than all, or when there is no history.
func (s *state) EpochEnd(epoch kafka.Epoch) (kafka.Epoch, kafka.Offset) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.epochs.endOf(epoch, s.end)
}

// EpochAt is the leader epoch of the record at an offset.
func (s *state) EpochAt(o kafka.Offset) kafka.Epoch {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.epochs.at(o)
}

// LastStable is the last stable offset under a high watermark: the first offset
// of a transaction that is open, or not yet replicated to its end, or the high
// watermark itself. Records that were deleted do not hold it back.
func (s *state) LastStable(highWatermark kafka.Offset) kafka.Offset {
	s.mu.RLock()
	idle := len(s.producers.open) == 0 && len(s.producers.undecided) == 0
	s.mu.RUnlock()
	if idle {
		return highWatermark
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.producers.stableBelow(highWatermark), min(s.start, highWatermark))
}

// OpenSince is when the producer of the oldest open transaction was last heard of,
// in milliseconds since 1970; 0 without an open transaction.
func (s *state) OpenSince() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.producers.sinceOpen()
}

// Producer is what the log knows of one producer, for DescribeProducers.
type Producer struct {
	ID               kafka.ProducerID
	Epoch            int16
	LastSequence     int32 // -1 none
	LastTimestamp    int64
	CoordinatorEpoch int32        // -1 none
	TxnStart         kafka.Offset // NoOffset without an open transaction
}

// Producers lists the active producers in the order of their ids.
func (s *state) Producers() []Producer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]Producer, 0, len(s.producers.byID))
	for id, p := range s.producers.byID {
		last, ok := p.lastBatch()
		if !ok {
			last.last = batch.NoSequence
		}
		list = append(list, Producer{id, p.epoch, last.last, p.lastTime, p.coordinator, p.txnFirst})
	}
	slices.SortFunc(list, func(a, b Producer) int { return int(min(max(a.ID-b.ID, -1), 1)) })
	return list
}

// ProducerCount is how many producers are remembered.
func (s *state) ProducerCount() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.producers.byID)
}

func (s *state) isLastOfProducer(h batch.Header) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.producers.isLastBatch(h)
}
