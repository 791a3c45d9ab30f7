package storage

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// privateFiles is the limit of open files of a log that shares no pool.
const privateFiles = 16

// Open opens the log in a folder, or makes an empty one. It finishes what a
// crash interrupted, cuts a torn end off and brings indexes, epochs and producer
// state in line with the batches. Opening is possible again after any crash.
func Open(opt Options) (*Log, error) {
	if opt.Files == nil {
		opt.Files = NewFiles(privateFiles)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	l := &Log{
		tp: opt.TP, fs: opt.FS, files: opt.Files, now: opt.Now,
		folder:     &folder{fs: opt.FS, name: filepath.Clean(opt.Dir)},
		baseLogger: opt.Logger, onError: opt.OnError, beforeTruncate: opt.BeforeTruncate, expiry: opt.ProducerExpiry,
		metrics:    opt.Metrics,
		snapshotAt: kafka.NoOffset,
	}
	l.random.Seed(opt.Seed, uint64(opt.TP.Partition))
	l.SetConfig(opt.Config)
	if err := l.load(opt); err != nil {
		for _, s := range l.segments {
			_ = s.closeIdle()
		}
		return nil, fmt.Errorf("open the log in %s: %w", opt.Dir, err)
	}
	return l, nil
}

// load makes the folder or reads what is in it. A new log is not synced: like
// its records it becomes durable with the first Sync.
func (l *Log) load(opt Options) error {
	if err := l.fs.MkdirAll(l.folder.path(), 0o755); err != nil {
		return err
	}
	files, err := l.list()
	if err != nil {
		return err
	}
	if l.topicID, err = keepTopicID(l.fs, l.folder.path(), opt.TopicID); err != nil {
		return err
	}
	changed, err := l.finishInterrupted(files)
	if err == nil && changed {
		files, err = l.list()
	}
	if err != nil {
		return err
	}
	r := recovery{Log: l, opt: opt, replayFrom: math.MaxInt64}
	if err := r.findSegments(files); err != nil {
		return err
	}
	if len(l.segments) == 0 {
		return l.begin(max(opt.LogStart, 0))
	}
	if err := r.run(); err != nil {
		return err
	}
	return l.CloseIdle()
}

// begin makes the first segment of a new log.
func (l *Log) begin(at kafka.Offset) error {
	s := l.newSegment(at, 0, "")
	s.timesKnown = true
	if err := create(s); err != nil {
		return err
	}
	l.segments = []*segment{s}
	l.start, l.end, l.recovery = at, at, at
	if err := l.writeEpochs(false); err != nil {
		return err
	}
	return l.CloseIdle()
}

// found is a file of a segment in the folder.
type found struct {
	base   kafka.Offset
	suffix string
	size   int64 // of logs and indexes; else 0
}

func (f found) name() string { return FileName(f.base, f.suffix) }

func (l *Log) list() ([]found, error) {
	entries, err := l.fs.ReadDir(l.folder.path())
	if err != nil {
		return nil, err
	}
	var list []found
	for _, e := range entries {
		base, suffix, ok := parseFileName(e.Name())
		if !ok || e.IsDir() {
			continue
		}
		f := found{base: base, suffix: suffix}
		if suffix == logSuffix || suffix == indexSuffix || suffix == timeIndexSuffix || suffix == logSuffix+swapSuffix {
			info, err := e.Info()
			if err != nil {
				return nil, err
			}
			f.size = info.Size()
		}
		list = append(list, f)
	}
	return list, nil
}

// finishInterrupted completes or takes back what the endings of names say a
// crash interrupted:
//
//   - .deleted goes;
//   - .cleaned was not complete and goes, and with it every .swap at or above
//     the lowest of them, which belongs to the same incomplete result;
//   - any other .swap is complete and replaces the segments whose range it
//     covers.
func (l *Log) finishInterrupted(list []found) (changed bool, err error) {
	lowest := kafka.Offset(math.MaxInt64)
	for _, f := range list {
		if strings.HasSuffix(f.suffix, cleanedSuffix) {
			lowest = min(lowest, f.base)
		}
	}
	var swaps []found
	for _, f := range list {
		swap := strings.HasSuffix(f.suffix, swapSuffix)
		switch {
		case swap && f.base < lowest:
			swaps = append(swaps, f)
		case swap, strings.HasSuffix(f.suffix, deletedSuffix),
			strings.HasSuffix(f.suffix, cleanedSuffix), strings.HasSuffix(f.suffix, tmpSuffix):
			changed = true
			if err := l.fs.Remove(l.folder.join(f.name())); err != nil {
				return changed, err
			}
		}
	}
	if err := l.completeSwaps(list, swaps); err != nil {
		return changed, err
	}
	if changed = changed || len(swaps) > 0; !changed {
		return false, nil
	}
	return true, l.fs.SyncDir(l.folder.path())
}

func (l *Log) completeSwaps(list, swaps []found) error {
	for _, f := range swaps {
		if f.suffix == logSuffix+swapSuffix {
			if err := l.removeCovered(f, list); err != nil {
				return err
			}
		}
	}
	// The log's own name comes last: see segmentSuffixes.
	slices.SortStableFunc(swaps, func(a, b found) int { return len(b.suffix) - len(a.suffix) })
	for _, f := range swaps {
		plain := FileName(f.base, strings.TrimSuffix(f.suffix, swapSuffix))
		if err := l.fs.Rename(l.folder.join(f.name()), l.folder.join(plain)); err != nil {
			return err
		}
	}
	return nil
}

// removeCovered removes the segments whose base lies in the range of a swap.
func (l *Log) removeCovered(swap found, list []found) error {
	s := l.newSegment(swap.base, swap.size, swapSuffix)
	defer s.closeIdle()
	next, err := s.lastOffset()
	if err != nil {
		return err
	}
	for _, f := range list {
		covered := f.suffix == logSuffix && f.base >= swap.base && f.base < max(next+1, swap.base+1)
		if !covered {
			continue
		}
		for _, suffix := range segmentSuffixes {
			err := l.fs.Remove(l.folder.join(FileName(f.base, suffix)))
			if err != nil && !isMissing(err) {
				return err
			}
		}
	}
	return nil
}

// findSegments takes over the log files, in order, and removes index files that
// have none.
func (r *recovery) findSegments(list []found) error {
	for _, f := range list { // ordered by name, so a log comes after its index
		if f.suffix == logSuffix {
			r.segments = append(r.segments, r.newSegment(f.base, f.size, ""))
			r.indexes = append(r.indexes, indexSizes{-1, -1})
		}
	}
	for _, f := range list {
		i, there := slices.BinarySearchFunc(r.segments, f.base, func(s *segment, o kafka.Offset) int { return cmp.Compare(s.base, o) })
		switch {
		case f.suffix == snapshotSuffix:
			r.snapshots = append(r.snapshots, f.base)
		case f.suffix == indexSuffix && there:
			r.indexes[i].offsets = f.size
		case f.suffix == timeIndexSuffix && there:
			r.indexes[i].times = f.size
		case !there && (f.suffix == indexSuffix || f.suffix == timeIndexSuffix || f.suffix == txnIndexSuffix):
			if err := r.fs.Remove(r.folder.join(f.name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropLater removes the segments behind index i: what follows a hole in the log
// cannot be trusted to follow.
func (l *Log) dropLater(i int) error {
	if i+1 >= len(l.segments) {
		return nil
	}
	l.logger().Warn("dropped segments behind a damaged one",
		"from", int64(l.segments[i+1].base), "count", len(l.segments)-i-1)
	var errs []error
	for _, s := range slices.Backward(l.segments[i+1:]) {
		errs = append(errs, s.remove())
	}
	l.segments = l.segments[:i+1]
	return errors.Join(errs...)
}
