package storage

import (
	"errors"
	"io/fs"
	"math"
	"slices"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// recovery brings an opened log to a state that can be trusted.
//
// After a clean shutdown, and after the crash of a process on a machine that
// runs on, all that was written is there: only the end of the last segment may
// be torn, and it is read from its last index entry on. After a loss of power
// every segment that reaches above the recovery point is read whole, what lies
// above is validated by its checksums, and its indexes are built again.
type recovery struct {
	*Log
	opt     Options
	indexes []indexSizes   // of the segments
	found   []kafka.Offset // of producers, in order
	// replayFrom is the first offset whose transaction index entries are gone.
	replayFrom kafka.Offset
	epochsGone bool         // the epoch file is missing or damaged
	damaged    bool         // it is damaged
	saved      []EpochStart // what is in it
	// lossesAbove is the offset above which a gap between two segments can only
	// be a loss: not where compaction may have been, nor what was synced, nor
	// what others wrote. It stays when the whole log is validated.
	lossesAbove kafka.Offset
}

// indexSizes are the sizes of a segment's index files; negative without a file.
type indexSizes struct{ offsets, times int64 }

// lossesAbove is where a gap can only be a loss, see recovery.
func lossesAbove(opt Options) kafka.Offset {
	if opt.Clean || opt.SameBoot || !opt.Gapless {
		return math.MaxInt64
	}
	return max(opt.RecoveryPoint, opt.Cleaned)
}

func (r *recovery) run() error {
	if err := r.loadEpochs(); err != nil {
		return err
	}
	if err := r.segmentsInOrder(); err != nil {
		return err
	}
	if r.epochsGone {
		if err := r.relearnEpochs(); err != nil {
			return err
		}
	}
	r.size.Store(0)
	for _, s := range r.segments {
		r.size.Add(s.size)
	}
	r.start = max(r.opt.LogStart, r.segments[0].base)
	r.recovery = min(max(r.opt.RecoveryPoint, 0), r.end)
	if r.opt.Clean {
		r.recovery = r.end
	}
	r.markUnsynced()
	if r.start > r.end {
		r.logger().Warn("the log ends below its start and begins anew there", "end", int64(r.end), "start", int64(r.start))
		return truncation{r.Log}.restart(r.start)
	}
	return r.settleEpochsAndProducers()
}

// loadEpochs reads the epoch file. One that cannot be is made again from the
// batches: it may be torn, as it is not synced with each new epoch.
func (r *recovery) loadEpochs() error {
	b, err := vfs.ReadFile(r.fs, r.folder.join(EpochFile), checkpointLimit)
	if isMissing(err) {
		r.epochsGone = true
		return nil
	}
	if err != nil {
		return err
	}
	r.epochs, err = decodeEpochs(b)
	if err != nil {
		r.logger().Warn("the epoch file is damaged and is built again", "error", err)
	}
	// Apache Kafka leaves an empty one in the folder of a log without epochs.
	if err != nil || len(b) == 0 {
		r.epochs, r.epochsGone, r.damaged = epochs{}, true, true
	}
	r.epochsSaved, r.saved = r.opt.Clean, slices.Clone(r.epochs.list)
	return nil
}

func (r *recovery) segmentsInOrder() error {
	for i := 0; i < len(r.segments); i++ {
		whole, err := r.segment(i, i == len(r.segments)-1, r.nextBase(i))
		if err != nil {
			return err
		}
		if !whole {
			if err := r.dropLater(i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *recovery) nextBase(i int) kafka.Offset {
	if i+1 < len(r.segments) {
		return r.segments[i+1].base
	}
	return math.MaxInt64
}

// segment recovers one segment as far as it needs that. It tells whether the
// segment was whole, to its end.
func (r *recovery) segment(i int, last bool, next kafka.Offset) (whole bool, err error) {
	s := r.segments[i]
	if r.opt.Whole || !r.opt.Clean && !r.opt.SameBoot && next > r.opt.RecoveryPoint {
		whole, err := r.scanAll(s)
		if err == nil && whole && !last && r.end < next && next > r.lossesAbove {
			// A segment is begun where the one before ends. So the file has lost
			// its end, at a place where that does not show, and what follows is
			// of no use: a replica must not keep a hole that no leader would
			// ever fill.
			whole = false
		}
		return whole, err
	}
	err = s.openIndexes(r.indexes[i].offsets, r.indexes[i].times, last)
	if errors.Is(err, errBadIndex) {
		// Nothing was lost here, so what follows stays even if a batch has gone
		// bad on the disk. The same holds for the epochs: those of later
		// segments, which are not read, are in the file alone.
		known := slices.Clone(r.epochs.list)
		_, err := r.scanAll(s)
		if !last {
			r.epochs.list = known
		}
		return true, err
	}
	if err != nil {
		return false, err
	}
	if last {
		return r.scanTail(s)
	}
	return true, nil
}

// scanTail validates what lies behind the last index entry.
func (r *recovery) scanTail(s *segment) (whole bool, err error) {
	from := int64(0)
	if s.offsets.n > 0 {
		from = s.offsets.last.pos
	}
	s.maxTime, s.maxTimeAt = s.times.last.time, s.times.last.offset
	indexed := s.offsets.n > 0
	r.end = s.base
	return r.scan(s, from, func(h batch.Header, pos int64) {
		if indexed {
			// The batch at the entry itself: it is in the index already.
			s.sinceIndex, indexed = -1, false
			s.took(h, pos, math.MaxInt)
			s.sinceIndex = h.Size()
			return
		}
		s.took(h, pos, r.config().IndexIntervalBytes)
	})
}

// scanAll validates a segment and builds its indexes again.
func (r *recovery) scanAll(s *segment) (whole bool, err error) {
	for _, x := range []*index{&s.offsets, &s.times} {
		x.n, x.pending, x.last = 0, nil, entry{offset: s.base, time: noTime}
		if err := x.truncateFile(0); err != nil {
			return false, err
		}
	}
	if err := rewriteAborted(s.aborted.file, nil); err != nil {
		return false, err
	}
	r.replayFrom = min(r.replayFrom, s.base)
	r.end = s.base
	whole, err = r.scan(s, 0, func(h batch.Header, pos int64) { s.took(h, pos, r.config().IndexIntervalBytes) })
	if err != nil {
		return false, err
	}
	if s == r.active() && whole {
		return whole, r.flush(s)
	}
	s.indexTime()
	return whole, errors.Join(r.flush(s), s.bearIndexes())
}

// scan reads the batches of a segment from a position on, learns their epochs,
// and cuts the file where they stop being right.
func (r *recovery) scan(s *segment, from int64, took func(batch.Header, int64)) (whole bool, err error) {
	size := s.size
	var failed error
	stop, err := s.scan(from, size, true, func(h batch.Header, pos int64, b []byte) bool {
		trusted := h.End() <= r.opt.RecoveryPoint && !r.opt.SameBoot && !r.opt.Whole
		if h.BaseOffset < r.end || !trusted && !batch.CheckCRC(b) {
			return false
		}
		if pos == from {
			// From here on the batches say which epochs there were. The file may
			// know later ones, of records that a truncation was cutting off.
			r.epochs.truncateEnd(h.BaseOffset)
		}
		took(h, pos)
		r.end = h.End()
		r.epochs.assign(h.LeaderEpoch, h.BaseOffset)
		if len(s.offsets.pending) >= pendingEntries {
			failed = r.flush(s)
		}
		return failed == nil
	})
	if errors.Is(err, errTorn) {
		err = nil
	}
	if err = errors.Join(err, failed); err != nil {
		return false, err
	}
	s.size, s.timesKnown = stop, true
	if stop == size {
		return true, nil
	}
	r.logger().Warn("cut a torn end off a segment", "segment", int64(s.base), "position", stop, "bytes", size-stop)
	return false, r.cutTorn(s, stop)
}

func (r *recovery) cutTorn(s *segment, pos int64) error {
	f, err := s.log.acquire()
	if err != nil {
		return err
	}
	defer s.log.release()
	if err := f.Truncate(pos); err != nil {
		return err
	}
	return f.Sync()
}

// relearnEpochs reads all batches of the log for their epochs.
func (r *recovery) relearnEpochs() error {
	r.epochs = epochs{}
	for _, s := range r.segments {
		_, err := s.scan(0, s.size, false, func(h batch.Header, _ int64, _ []byte) bool {
			r.epochs.assign(h.LeaderEpoch, h.BaseOffset)
			return true
		})
		if err != nil && !errors.Is(err, errTorn) {
			return err
		}
	}
	return nil
}

// markUnsynced leaves to the next sync what may be in memory only.
func (r *recovery) markUnsynced() {
	if r.opt.Clean {
		r.dirSaved, r.bornSaved = true, true
		return
	}
	for i, s := range r.segments {
		if r.nextBase(i) > r.recovery {
			s.unsynced, s.indexUnsaved = true, true
		}
	}
}

func (r *recovery) settleEpochsAndProducers() error {
	r.epochs.truncateEnd(r.end)
	r.epochs.truncateStart(r.start)
	if err := r.settleEpochs(); err != nil {
		return err
	}
	err := truncation{r.Log}.reloadProducersFrom(r.found, min(r.end, r.replayFrom))
	if errors.Is(err, errTorn) {
		return r.again()
	}
	r.snapshots.saved = r.opt.Clean
	return err
}

// saveLearned writes the epochs if they are not those in the file.
func (r *recovery) saveLearned() error {
	if r.savedAll() {
		return nil
	}
	r.damaged, r.saved = false, slices.Clone(r.epochs.list)
	return r.writeEpochs(false)
}

func (r *recovery) savedAll() bool { return !r.damaged && slices.Equal(r.epochs.list, r.saved) }

// settleEpochs writes the epochs in the end. The file of a log without an entry in its
// offset index may stay behind, see saveEpochs: a start after a crash would otherwise
// write thousands of files.
func (r *recovery) settleEpochs() error {
	if !r.savedAll() && !r.damaged && len(r.segments) == 1 && r.segments[0].offsets.n == 0 {
		r.epochsBehind = true
		return nil
	}
	return r.saveLearned()
}

// flush writes pending index entries, and before those of the last segment the
// epochs, see saveEpochs. A history that is gone is written when all of it is known
// again: a part of it in a good file would pass for all.
func (r *recovery) flush(s *segment) error {
	if s == r.active() && !r.epochsGone {
		if err := r.saveLearned(); err != nil {
			return err
		}
	}
	return s.flushIndexes()
}

// again handles damage below the part that was validated: the whole log is
// validated, and cut at the first batch that is not right.
func (r *recovery) again() error {
	r.logger().Error("the log is damaged below its recovery point; it is validated from its start")
	all := *r
	all.replayFrom, all.epochsGone, all.damaged = math.MaxInt64, true, true
	all.opt.Clean, all.opt.SameBoot, all.opt.RecoveryPoint = false, false, 0
	return all.run()
}

// dropLater removes the segments behind index i: what follows a hole in the log
// cannot be trusted to follow.
func (r *recovery) dropLater(i int) error {
	if i+1 >= len(r.segments) {
		return nil
	}
	r.logger().Warn("dropped segments behind a damaged one",
		"from", int64(r.segments[i+1].base), "count", len(r.segments)-i-1)
	var errs []error
	for _, s := range slices.Backward(r.segments[i+1:]) {
		errs = append(errs, s.remove())
	}
	r.segments = r.segments[:i+1]
	return errors.Join(errs...)
}
