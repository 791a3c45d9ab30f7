package storage

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
)

// privateFiles is the limit of open files of a log that shares no pool.
const privateFiles = 16

// Open opens the log in a folder, or makes an empty one. It finishes what a
// crash interrupted, cuts a torn end off and brings indexes, epochs and producer
// state in line with the batches. Opening is possible again after any crash.
func Open(opt Options) (*Log, error) {
	l := newLog(opt)
	opt.FS = l.fs
	if err := l.load(opt); err != nil {
		for _, s := range l.segments {
			_ = s.closeIdle()
		}
		return nil, fmt.Errorf("open the log in %s: %w", opt.Dir, err)
	}
	return l, nil
}

// newLog is a log of which nothing is known yet but what it was opened with.
func newLog(opt Options) *Log {
	if opt.Files == nil {
		opt.Files = NewFiles(privateFiles)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	disk := opt.Files.Relieve(opt.FS)
	dir := &folder{fs: disk, name: filepath.Clean(opt.Dir)}
	l := &Log{
		identity: identity{partition: opt.TP, folder: dir, now: opt.Now, baseLogger: opt.Logger},
		health:   health{tp: opt.TP, onError: opt.OnError},
		fs:       disk, files: opt.Files, metrics: opt.Metrics, onWork: opt.OnWork,
		beforeTruncate: opt.BeforeTruncate,
		snapshots:      snapshots{folder: dir, at: kafka.NoOffset},
	}
	l.random.Seed(opt.Seed, uint64(opt.TP.Partition))
	l.settings.Store(opt.Files.share(opt.Config))
	return l
}

// load makes the folder or reads what is in it. A new log is not synced: like
// its records it becomes durable with the first Sync.
func (l *Log) load(opt Options) error {
	fresh, err := l.folder.make()
	if err != nil {
		return err
	}
	if fresh {
		if l.topicID = opt.TopicID; !opt.TopicID.IsZero() {
			if err := writeTopicID(l.fs, l.folder.join(PartitionMetadataFile), opt.TopicID); err != nil {
				return err
			}
		}
		return l.begin(max(opt.LogStart, 0))
	}
	files, err := l.folder.list()
	if err != nil {
		return err
	}
	if l.topicID, err = keepTopicID(opt, l.folder.path(), files); err != nil {
		return err
	}
	changed, err := l.folder.finishInterrupted(files)
	if err == nil && changed {
		files, err = l.folder.list()
	}
	if err != nil {
		return err
	}
	r := recovery{Log: l, opt: opt, replayFrom: math.MaxInt64, lossesAbove: lossesAbove(opt)}
	if err := r.findSegments(files); err != nil {
		return err
	}
	if len(l.segments) == 0 {
		return l.begin(max(opt.LogStart, 0))
	}
	if err := r.run(); err != nil {
		return err
	}
	l.stir()
	return l.CloseIdle()
}

// begin makes the first segment of a new log. One that does not begin at 0 needs
// files to say so.
func (l *Log) begin(at kafka.Offset) error {
	if at == 0 {
		l.beginBlank()
		return nil
	}
	s := l.newSegment(at, 0, "")
	s.timesKnown = true
	l.segments = []*segment{s}
	l.start, l.end, l.recovery = at, at, at
	if err := create(s); err != nil {
		return err
	}
	return l.CloseIdle()
}

// beginBlank gives a new log a segment whose files are made when something is
// written to them: many logs are made at once, and some are never written to.
func (l *Log) beginBlank() {
	s := l.newSegment(0, 0, "")
	s.timesKnown = true
	s.log.unborn, s.offsets.file.unborn, s.times.file.unborn = true, true, true
	l.segments = []*segment{s}
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
			r.found = append(r.found, f.base)
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
	for i, s := range r.segments {
		s.offsets.file.unborn, s.times.file.unborn = r.indexes[i].offsets < 0, r.indexes[i].times < 0
	}
	return nil
}
