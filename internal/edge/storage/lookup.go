package storage

import (
	"errors"
	"slices"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// TimeOffset is a record that a lookup by time found.
type TimeOffset struct {
	Offset    kafka.Offset
	Timestamp int64
	Epoch     kafka.Epoch // leader epoch of its batch
}

// OffsetForTimestamp finds the first record with a timestamp of at least ts, in
// milliseconds, and below an offset. ok is false when there is none.
func (l *Log) OffsetForTimestamp(ts int64, below kafka.Offset) (found TimeOffset, ok bool, err error) {
	l.writer.Lock()
	defer l.writer.Unlock()
	for _, s := range l.segments {
		if s.base >= below {
			break
		}
		if err := s.loadTimes(); err != nil {
			return TimeOffset{}, false, l.readError(err)
		}
		if s.maxTime < ts {
			continue
		}
		from, err := l.timeFloor(s, ts)
		if err != nil {
			return TimeOffset{}, false, l.readError(err)
		}
		found, ok, err = l.firstRecord(s, from, func(r batch.Record) bool { return r.Timestamp >= ts && r.Offset >= l.start })
		if err != nil || ok {
			return found, ok && found.Offset < below, l.readError(err)
		}
	}
	return TimeOffset{}, false, nil
}

// MaxTimestampOffset finds the first record with the largest timestamp of the
// log. ok is false when no record has one.
func (l *Log) MaxTimestampOffset() (found TimeOffset, ok bool, err error) {
	l.writer.Lock()
	defer l.writer.Unlock()
	var best *segment
	for _, s := range l.segments {
		if err := s.loadTimes(); err != nil {
			return TimeOffset{}, false, l.readError(err)
		}
		if s.maxTime >= 0 && (best == nil || s.maxTime > best.maxTime) {
			best = s
		}
	}
	if best == nil {
		return TimeOffset{}, false, nil
	}
	from, err := l.timeFloor(best, best.maxTime)
	if err != nil {
		return TimeOffset{}, false, l.readError(err)
	}
	found, ok, err = l.firstRecord(best, from, func(r batch.Record) bool { return r.Timestamp >= best.maxTime && r.Offset >= l.start })
	return found, ok, l.readError(err)
}

// timeFloor is a position before which no record has a timestamp of at least ts.
func (l *Log) timeFloor(s *segment, ts int64) (int64, error) {
	e, ok, err := s.times.view().belowTime(ts)
	if err != nil || !ok {
		return 0, err
	}
	at, err := l.floor(s.offsets.view(), e.offset, s.size)
	return at.pos, err
}

// firstRecord finds the first record that is wanted, from a position on.
func (l *Log) firstRecord(s *segment, pos int64, want func(batch.Record) bool) (found TimeOffset, ok bool, err error) {
	var failed error
	d := batch.NewDecoder(l.config().MaxDecompressedMessageBytes)
	_, err = s.scan(pos, s.size, false, func(h batch.Header, pos int64, _ []byte) bool {
		if !want(batch.Record{Offset: h.Last(), Timestamp: h.MaxTimestamp}) {
			return true
		}
		var b []byte
		if b, failed = s.read(pos, h.Size()); failed != nil {
			return false
		}
		for r, err := range d.Records(b) {
			if err != nil {
				failed = errTorn
				return false
			}
			if want(r) {
				found, ok = TimeOffset{r.Offset, r.Timestamp, h.LeaderEpoch}, true
				return false
			}
		}
		return true
	})
	return found, ok, errors.Join(err, failed)
}

// LastStable is the last stable offset under a high watermark: the first offset
// of a transaction that is open, or not yet replicated to its end, or the high
// watermark itself.
func (l *Log) LastStable(highWatermark kafka.Offset) kafka.Offset {
	l.mu.RLock()
	idle := len(l.producers.open) == 0 && len(l.producers.undecided) == 0
	l.mu.RUnlock()
	if idle {
		return highWatermark
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.stableBelow(highWatermark)
}

// AbortedTxns gives the aborted transactions that a reader of committed records
// must know for the range [from, to).
func (l *Log) AbortedTxns(from, to kafka.Offset) ([]AbortedTxn, error) {
	l.shape.RLock()
	defer l.shape.RUnlock()
	l.mu.RLock()
	list := l.segments
	l.mu.RUnlock()
	var out []AbortedTxn
	for _, s := range list[holder(list, from):] {
		all, err := s.aborted.all()
		if err != nil {
			return nil, l.readError(err)
		}
		for _, t := range all {
			if t.Last >= from && t.First < to {
				out = append(out, t)
			}
			if t.Stable >= to {
				return out, nil
			}
		}
	}
	return out, nil
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

// ProducerCount is how many producers are remembered.
func (l *Log) ProducerCount() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.producers.byID)
}

// Producers lists the active producers in the order of their ids.
func (l *Log) Producers() []Producer {
	l.mu.RLock()
	defer l.mu.RUnlock()
	list := make([]Producer, 0, len(l.producers.byID))
	for id, p := range l.producers.byID {
		last, ok := p.lastBatch()
		if !ok {
			last.last = batch.NoSequence
		}
		list = append(list, Producer{id, p.epoch, last.last, p.lastTime, p.coordinator, p.txnFirst})
	}
	slices.SortFunc(list, func(a, b Producer) int { return int(min(max(a.ID-b.ID, -1), 1)) })
	return list
}
