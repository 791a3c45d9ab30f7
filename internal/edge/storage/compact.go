package storage

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// ErrUncleanable says that compaction cannot read a log. The log goes on as it
// is.
var ErrUncleanable = errors.New("log cannot be compacted")

// errChanged ends a compaction whose segments were truncated or deleted
// meanwhile, errStopped one that Pace has ended.
var (
	errChanged = errors.New("the segments changed")
	errStopped = errors.New("the compaction was stopped")
)

// Dirt is how much of a log compaction has not seen.
type Dirt struct {
	// [From, To) are the offsets that can be compacted now: whole segments, none
	// of them active, not synced, unstable or too young.
	From, To kafka.Offset
	// Clean and Dirty are the bytes below From and in [From, To).
	Clean, Dirty int64
	// Overdue says that the oldest dirty record is older than
	// max.compaction.lag.ms.
	Overdue bool
}

// Ratio is the share of dirty bytes.
func (d Dirt) Ratio() float64 {
	if d.Dirty == 0 {
		return 0
	}
	return float64(d.Dirty) / float64(d.Clean+d.Dirty)
}

// Due tells whether a log wants to be compacted.
func (d Dirt) Due(minRatio float64) bool {
	return d.To > d.From && (d.Ratio() > minRatio || d.Overdue)
}

// Dirt measures what can be compacted, given how far it has been and the high
// watermark, and the recovery point that a checkpoint on the disk names: after a
// loss of power nothing above that one may look as if compaction had been there.
// Appends go on meanwhile.
func (l *Log) Dirt(cleaned, highWatermark, checkpointed kafka.Offset) (Dirt, error) {
	stable := l.LastStable(highWatermark)
	l.shape.RLock()
	defer l.shape.RUnlock()
	if err := l.usable(); err != nil {
		return Dirt{}, err
	}
	start, list := l.readable()
	d := Dirt{From: cleaned}
	if d.From < start || d.From > list[len(list)-1].base {
		d.From = start
	}
	var err error
	if d.To, err = (compaction{l}).cleanableEnd(list, min(stable, checkpointed, l.RecoveryPoint())); err != nil {
		return Dirt{}, l.readError(err)
	}
	for i, s := range list[:len(list)-1] {
		switch next := list[i+1].base; {
		case next <= d.From:
			d.Clean += s.size
		case next <= d.To:
			d.Dirty += s.size
			if d.Overdue, err = (compaction{l}).overdue(s, d.Overdue); err != nil {
				return Dirt{}, l.readError(err)
			}
		}
	}
	return d, nil
}

// compaction is what compacting does to a log.
type compaction struct{ *Log }

// cleanableEnd is the base of the first segment that must be left alone.
func (l compaction) cleanableEnd(list []*segment, bound kafka.Offset) (kafka.Offset, error) {
	youngest := l.nowMs() - l.config().MinCompactionLagMs
	for i, s := range list[:len(list)-1] {
		if list[i+1].base > bound {
			return s.base, nil
		}
		if l.config().MinCompactionLagMs > 0 {
			largest, err := s.largestTime()
			if err != nil || largest > youngest {
				return s.base, err
			}
		}
	}
	return list[len(list)-1].base, nil
}

func (l compaction) overdue(s *segment, already bool) (bool, error) {
	if already {
		return true, nil
	}
	first, err := s.loadFirstTime()
	if err != nil {
		return false, err
	}
	return first >= 0 && l.nowMs()-first > l.config().MaxCompactionLagMs, nil
}

// Compactor compacts logs, one at a time.
type Compactor struct {
	// KeyBytes bounds the memory for keys (log.cleaner.dedupe.buffer.size).
	KeyBytes int64
	// Pace is called before so many bytes are read or written, and may wait. An
	// error of it ends the compaction, and the log stays as it is. It may be nil.
	Pace func(bytes int) error

	decoder batch.Decoder
	builder *batch.Builder
	out     []byte
}

// Compact keeps, of the records up to d.To, the newest of each key, and gives
// the offset up to which it came: less than d.To when there are more keys than
// memory. Offsets never change.
//
// New segments are written aside, synced, and put in the place of the old ones
// in steps that a restart can complete or take back, see finishInterrupted.
func (c *Compactor) Compact(l *Log, d Dirt) (kafka.Offset, error) {
	sources, err := compaction{l}.pinned(d.To)
	if err != nil {
		return d.From, l.readError(err)
	}
	defer unpin(sources)
	r, err := c.round(l, sources, d)
	if err == nil {
		err = r.rewriteAll(sources)
	}
	switch {
	case err == nil:
		return r.end, nil
	case errors.Is(err, errChanged), errors.Is(err, errStopped):
		return d.From, nil
	case errors.Is(err, ErrUncleanable), errors.Is(err, ErrFailed):
		return d.From, err
	}
	return d.From, l.refuse("compaction", err)
}

// pace waits until so many bytes may be read or written.
func (c *Compactor) pace(bytes int) error {
	if c.Pace == nil {
		return nil
	}
	if err := c.Pace(bytes); err != nil {
		return fmt.Errorf("%w: %w", errStopped, err)
	}
	return nil
}

// source is a segment as it was when a compaction began.
type source struct {
	*segment
	size int64
	log  *file // pinned
}

// pinned takes hold of the segments below an offset.
func (l compaction) pinned(to kafka.Offset) ([]source, error) {
	l.shape.RLock()
	defer l.shape.RUnlock()
	l.mu.RLock()
	list := l.segments
	l.mu.RUnlock()
	var out []source
	for _, s := range list[:len(list)-1] {
		if s.base >= to {
			break
		}
		if _, err := s.log.pin(s.size); err != nil {
			unpin(out)
			return nil, err
		}
		out = append(out, source{s, s.size, s.log})
	}
	return out, nil
}

func unpin(list []source) {
	for _, s := range list {
		s.log.unpin()
	}
}

// scan walks the whole batches of a source.
func (s source) scan(visit func(h batch.Header, b []byte) error) error {
	var failed error
	f, err := s.log.acquire()
	if err != nil {
		return err
	}
	defer s.log.release()
	_, err = scan(f, 0, s.size, true, func(h batch.Header, _ int64, b []byte) bool {
		failed = visit(h, b)
		return failed == nil
	})
	if errors.Is(err, errTorn) {
		err = fmt.Errorf("%w: %s holds bytes that are no batch", ErrUncleanable, s.log.path())
	}
	return errors.Join(err, failed)
}

// round reads the keys of the dirty segments. It ends early, between two
// batches, when the map is full.
func (c *Compactor) round(l *Log, sources []source, d Dirt) (*rewrite, error) {
	r := &rewrite{
		Compactor: c, log: l, end: d.To, sealedTo: d.To, nowMs: l.nowMs(), retentionMs: l.config().DeleteRetentionMs,
		aborted: map[kafka.ProducerID][]AbortedTxn{}, seen: map[kafka.ProducerID]bool{},
	}
	c.decoder.Limit = l.config().MaxDecompressedMessageBytes
	for _, s := range sources {
		all, err := s.aborted.all()
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			r.aborted[t.Producer] = append(r.aborted[t.Producer], t)
		}
	}
	count, err := countRecords(sources, d.From)
	if err != nil {
		return nil, err
	}
	r.keys = newKeyMap(count, c.KeyBytes)
	for _, s := range sources {
		if err := r.readKeys(s, d.From); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// countRecords bounds how many keys there can be.
func countRecords(sources []source, from kafka.Offset) (n int64, err error) {
	for i, s := range sources {
		if i+1 < len(sources) && sources[i+1].base <= from {
			continue
		}
		f, err := s.log.acquire()
		if err != nil {
			return 0, err
		}
		_, err = scan(f, 0, s.size, false, func(h batch.Header, _ int64, _ []byte) bool {
			n += int64(h.Count)
			return true
		})
		s.log.release()
		if err != nil && !errors.Is(err, errTorn) {
			return 0, err
		}
	}
	return n, nil
}

func (r *rewrite) readKeys(s source, from kafka.Offset) error {
	return s.scan(func(h batch.Header, b []byte) error {
		if err := r.pace(len(b)); err != nil {
			return err
		}
		if h.End() <= from || h.BaseOffset >= r.end || h.Control() || r.isAborted(h) {
			return nil
		}
		if int(h.Count) > r.keys.room() {
			if r.keys.used == 0 {
				return fmt.Errorf("%w: %d keys of one batch do not fit %d bytes", ErrUncleanable, h.Count, r.KeyBytes)
			}
			r.end = h.BaseOffset
			return nil
		}
		for rec, err := range r.decoder.SharedRecords(b) {
			if err != nil {
				return fmt.Errorf("%w: batch at %d: %w", ErrUncleanable, h.BaseOffset, err)
			}
			if rec.Key != nil && rec.Offset >= from {
				r.keys.put(rec.Key, rec.Offset)
			}
		}
		return nil
	})
}

// groups puts neighbours together while the sum fits one segment.
func (l compaction) groups(sources []source, end kafka.Offset) [][]source {
	sources = slices.Clone(sources)
	for len(sources) > 0 && sources[len(sources)-1].base >= end {
		sources = sources[:len(sources)-1]
	}
	cfg := l.config()
	var out [][]source
	var bytes, entries int64
	for i, s := range sources {
		next := end
		if i+1 < len(sources) {
			next = sources[i+1].base
		}
		n := int64(max(s.offsets.len()*offsetEntrySize, s.times.len()*timeEntrySize))
		joins := len(out) > 0 && bytes+s.size <= int64(cfg.SegmentBytes) && entries+n <= int64(cfg.SegmentIndexBytes) &&
			next-out[len(out)-1][0].base <= math.MaxInt32
		if joins {
			out[len(out)-1] = append(out[len(out)-1], s)
			bytes, entries = bytes+s.size, entries+n
			continue
		}
		out = append(out, []source{s})
		bytes, entries = s.size, n
	}
	return out
}
