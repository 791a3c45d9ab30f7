package partitions

import (
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/core/replica"
	"github.com/ottla/ottla/internal/edge/await"
	"github.com/ottla/ottla/internal/edge/storage"
)

// Timestamps with a meaning of their own in ListOffsets.
const (
	LatestTime          int64 = -1
	EarliestTime        int64 = -2
	MaxTime             int64 = -3 // the record with the largest timestamp (KIP-734)
	EarliestLocalTime   int64 = -4 // in local storage (KIP-405)
	LatestTieredTime    int64 = -5 // in remote storage (KIP-1005)
	EarliestPendingTime int64 = -6 // not yet in remote storage (KIP-1023)
)

// Position is a place in a log that a search has found.
type Position struct {
	Offset    kafka.Offset // kafka.NoOffset: nothing found
	Timestamp int64        // ms; -1 unless a record was looked for
	Epoch     kafka.Epoch  // of the record at Offset
}

var nowhere = Position{kafka.NoOffset, -1, kafka.NoEpoch}

// Find looks for an offset by time, as ListOffsets does. Errors carry a kerr
// code; OffsetNotAvailable means that a new leader does not know yet (KIP-207).
func (p *Partition) Find(r Reader, current kafka.Epoch, time int64) (Position, error) {
	if !p.enter() {
		return nowhere, kerr.KafkaStorageError
	}
	err := p.leads(current)
	var at bounds
	known := false
	if err == nil {
		at, known = bounds{log: p.log, hw: p.core.HighWatermark(), reader: r}, p.core.LatestKnown()
	}
	p.mu.Unlock()
	if err != nil {
		return nowhere, err
	}
	return at.find(time, known)
}

func (b bounds) find(time int64, latestKnown bool) (Position, error) {
	switch time {
	case EarliestTime, EarliestLocalTime:
		return b.at(b.log.Start()), nil
	case LatestTieredTime:
		return nowhere, nil // nothing is tiered
	}
	below := b.below(b.log.LastStable(b.hw))
	if !latestKnown && !b.reader.isFollower() {
		return nowhere, kerr.OffsetNotAvailable
	}
	switch {
	case time == LatestTime:
		return b.at(below), nil
	case time == EarliestPendingTime:
		return b.at(b.log.Start()), nil
	case time == MaxTime:
		return found(b.log.MaxTimestampOffset()).under(below)
	case time < 0:
		return nowhere, kerr.Errorf(kerr.UnsupportedVersion, "timestamp %d has no meaning", time)
	}
	return found(b.log.OffsetForTimestamp(time, below)).under(below)
}

func (b bounds) at(o kafka.Offset) Position { return Position{o, -1, b.log.EpochAt(o)} }

// search is what a search by time came to.
type search struct {
	storage.TimeOffset
	ok  bool
	err error
}

func found(f storage.TimeOffset, ok bool, err error) search { return search{f, ok, err} }

// under leaves out what the reader may not see yet.
func (s search) under(below kafka.Offset) (Position, error) {
	if s.err != nil || !s.ok || s.Offset >= below {
		return nowhere, s.err
	}
	return Position{s.Offset, s.Timestamp, s.Epoch}, nil
}

// EpochEnd answers OffsetForLeaderEpoch: the largest epoch at or below the one
// asked for, and where it ends. (kafka.NoEpoch, kafka.NoOffset): not known.
func (p *Partition) EpochEnd(current, asked kafka.Epoch) (kafka.Epoch, kafka.Offset, error) {
	if !p.enter() {
		return kafka.NoEpoch, kafka.NoOffset, kerr.KafkaStorageError
	}
	defer p.mu.Unlock()
	if err := p.leads(current); err != nil {
		return kafka.NoEpoch, kafka.NoOffset, err
	}
	if asked == p.core.LeaderEpoch() {
		return asked, p.log.End(), nil
	}
	epoch, end := p.log.EpochEnd(asked)
	return epoch, end, nil
}

// DeleteBefore raises the log start (DeleteRecords). Offset -1 stands for the
// high watermark. It returns the offset that the low watermark has to reach.
func (p *Partition) DeleteBefore(o kafka.Offset) (kafka.Offset, error) {
	if !p.Policy().CleanupDelete {
		return 0, kerr.Errorf(kerr.PolicyViolation, "cleanup.policy of %s does not hold delete", p.Name.Topic)
	}
	var room [8]*await.Parked
	if !p.enter() {
		return 0, kerr.KafkaStorageError
	}
	o, wake, err := p.deleteBefore(o, room[:0])
	p.mu.Unlock()
	await.PokeAll(wake)
	return o, err
}

func (p *Partition) deleteBefore(o kafka.Offset, wake []*await.Parked) (kafka.Offset, []*await.Parked, error) {
	if err := p.leads(kafka.NoEpoch); err != nil {
		return 0, wake, err
	}
	hw := p.core.HighWatermark()
	if o == -1 {
		o = hw
	}
	if o < 0 || o > hw {
		return 0, wake, kerr.Errorf(kerr.OffsetOutOfRange, "offset %d is not between 0 and the high watermark %d", o, hw)
	}
	if err := p.log.SetStart(o); err != nil {
		return 0, wake, err
	}
	p.trimFuture(o)
	return o, p.step(replica.Trimmed{Start: p.log.Start()}, wake), nil
}

// LowWatermark is where the log of every live replica starts, or later, and that of
// the copy of a move, if it holds what was deleted.
func (p *Partition) LowWatermark() (kafka.Offset, error) {
	if !p.enter() {
		return kafka.NoOffset, kerr.KafkaStorageError
	}
	defer p.mu.Unlock()
	if err := p.leads(kafka.NoEpoch); err != nil {
		return kafka.NoOffset, err
	}
	return p.trimmedFuture(p.core.LowWatermark()), nil
}

// Producers are the producers that the partition remembers.
func (p *Partition) Producers() ([]storage.Producer, error) {
	if !p.enter() {
		return nil, kerr.KafkaStorageError
	}
	defer p.mu.Unlock()
	if err := p.leads(kafka.NoEpoch); err != nil {
		return nil, err
	}
	return p.log.Producers(), nil
}
