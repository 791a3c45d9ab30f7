package storage

import (
	"github.com/ottla/ottla/internal/base/kafka"
)

// TimeOffset is a record that a lookup by time found.
type TimeOffset struct {
	Offset    kafka.Offset
	Timestamp int64
	Epoch     kafka.Epoch // leader epoch of its batch
}

// OffsetForTimestamp finds the first record with a timestamp of at least ts, in
// milliseconds, and below an offset. ok is false when there is none. Appends go
// on meanwhile.
func (l *Log) OffsetForTimestamp(ts int64, below kafka.Offset) (found TimeOffset, ok bool, err error) {
	l.shape.RLock()
	defer l.shape.RUnlock()
	start, list := l.readable()
	for _, s := range list {
		if s.base >= below {
			break
		}
		largest, err := s.findTimes(false)
		if err != nil {
			return TimeOffset{}, false, l.readError(err)
		}
		if largest < ts {
			continue
		}
		found, ok, err = s.firstAt(ts, start, l.config().MaxDecompressedMessageBytes)
		if err != nil || ok {
			return found, ok && found.Offset < below, l.readError(err)
		}
	}
	return TimeOffset{}, false, nil
}

// MaxTimestampOffset finds the first record with the largest timestamp of the
// log. ok is false when no record has one. Appends go on meanwhile.
func (l *Log) MaxTimestampOffset() (found TimeOffset, ok bool, err error) {
	l.shape.RLock()
	defer l.shape.RUnlock()
	start, list := l.readable()
	var best *segment
	most := noTime
	for _, s := range list {
		largest, err := s.findTimes(false)
		if err != nil {
			return TimeOffset{}, false, l.readError(err)
		}
		if largest > most {
			best, most = s, largest
		}
	}
	if best == nil {
		return TimeOffset{}, false, nil
	}
	found, ok, err = best.firstAt(most, start, l.config().MaxDecompressedMessageBytes)
	return found, ok, l.readError(err)
}

func (l *Log) readable() (start kafka.Offset, list []*segment) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.start, l.segments
}

// AbortedTxns gives the aborted transactions that a reader of committed records
// must know for the range [from, to).
func (l *Log) AbortedTxns(from, to kafka.Offset) ([]AbortedTxn, error) {
	l.shape.RLock()
	defer l.shape.RUnlock()
	_, list := l.readable()
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
