package storage

import (
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
		from, err := s.timeFloor(ts)
		if err != nil {
			return TimeOffset{}, false, l.readError(err)
		}
		found, ok, err = s.firstRecord(from, l.config().MaxDecompressedMessageBytes, func(r batch.Record) bool { return r.Timestamp >= ts && r.Offset >= l.start })
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
	from, err := best.timeFloor(best.maxTime)
	if err != nil {
		return TimeOffset{}, false, l.readError(err)
	}
	found, ok, err = best.firstRecord(from, l.config().MaxDecompressedMessageBytes, func(r batch.Record) bool { return r.Timestamp >= best.maxTime && r.Offset >= l.start })
	return found, ok, l.readError(err)
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
