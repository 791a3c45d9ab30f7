package storage

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// noTime marks a timestamp that is not known.
const noTime int64 = -1

// segment is one log file with its indexes. Its fields are guarded by the log's
// mu; the writer alone changes them, so it may read them without.
type segment struct {
	mu   *sync.RWMutex // the log's
	base kafka.Offset
	log  *file
	size int64 // bytes of whole batches; what lies behind is not published

	offsets index
	times   index
	aborted aborted

	// The largest timestamp and the last offset of the batch that holds it.
	// Known once timesKnown is set, see findTimes.
	timesKnown bool
	maxTime    int64
	maxTimeAt  kafka.Offset

	firstTime    int64 // max timestamp of the first batch, once it is known
	createdMs    int64 // when the segment was made or opened, by our clock
	jitterMs     int64 // taken off segment.ms, so that many do not roll at once
	sinceIndex   int   // bytes since the last index entry
	sinceFlush   int   // bytes since pending index entries were written
	unsynced     bool  // the log file holds bytes that no sync has covered
	indexUnsaved bool  // the index files do

	marks marks
}

// markCount is how many exact positions a segment remembers.
const markCount = 8

// marks remembers where recent appends began, so that those who read the end of
// the log, nearly all do, need no index.
type marks struct {
	at   [markCount]mark
	next int
}

type mark struct {
	offset kafka.Offset
	pos    int64
}

func (m *marks) add(o kafka.Offset, pos int64) {
	m.at[m.next] = mark{o, pos + 1} // + 1, so that a zero mark is none
	m.next = (m.next + 1) % markCount
}

// floor is the last mark at or below an offset.
func (m *marks) floor(o kafka.Offset) (entry, bool) {
	best, ok := mark{}, false
	for _, x := range m.at {
		if x.pos > 0 && x.offset <= o && (!ok || x.offset > best.offset) {
			best, ok = x, true
		}
	}
	return entry{offset: best.offset, pos: best.pos - 1}, ok
}

func (l *Log) newSegment(base kafka.Offset, size int64, suffix string) *segment {
	s := &segment{
		mu: &l.mu, base: base, size: size,
		log:       l.files.file(l.folder, base, logSuffix+suffix),
		maxTime:   noTime,
		maxTimeAt: base,
		firstTime: noTime,
		createdMs: l.nowMs(),
	}
	s.offsets = index{file: l.files.file(l.folder, base, indexSuffix+suffix), width: offsetEntrySize}
	s.times = index{file: l.files.file(l.folder, base, timeIndexSuffix+suffix), width: timeEntrySize}
	s.offsets.last = entry{offset: base, time: noTime}
	s.times.last = entry{offset: base, time: noTime}
	s.aborted.file = l.files.file(l.folder, base, txnIndexSuffix+suffix)
	if jitter := min(l.config().SegmentJitterMs, l.config().SegmentMs); jitter > 0 {
		s.jitterMs = int64(l.random.Uint64() % uint64(jitter))
	}
	return s
}

// files are those of the segment, in the order of segmentSuffixes.
func (s *segment) files() [4]*file {
	return [4]*file{s.offsets.file, s.times.file, s.aborted.file, s.log}
}

// took accounts for a batch that was written at a position. It may add index
// entries; the caller writes them later.
func (s *segment) took(h batch.Header, pos int64, interval int) {
	if h.MaxTimestamp > s.maxTime {
		s.maxTime, s.maxTimeAt = h.MaxTimestamp, h.Last()
	}
	if pos == 0 {
		s.firstTime = h.MaxTimestamp
	}
	if s.sinceIndex > interval {
		s.offsets.add(entry{offset: h.Last(), pos: pos})
		s.indexTime()
		s.sinceIndex = 0
	}
	s.sinceIndex += h.Size()
	s.sinceFlush += h.Size()
	s.size = pos + int64(h.Size())
}

// indexTime adds the largest timestamp to the time index, if it grew.
func (s *segment) indexTime() {
	if s.maxTime > s.times.last.time && s.maxTimeAt >= s.times.last.offset {
		s.times.add(entry{time: s.maxTime, offset: s.maxTimeAt})
	}
}

// indexFull tells whether an index has no room: one entry of the time index is
// kept for the final one.
func (s *segment) indexFull(limit int) bool {
	return s.offsets.len() >= limit/offsetEntrySize || s.times.len() >= limit/timeEntrySize-1
}

// empty tells whether nothing is in the segment.
func (s *segment) empty() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.size == 0
}

// fits tells whether an offset can be written relative to the base.
func (s *segment) fits(o kafka.Offset) bool { return o-s.base <= math.MaxInt32 && o >= s.base }

// read gives n bytes of the log file.
func (s *segment) read(pos int64, n int) ([]byte, error) {
	f, err := s.log.acquire()
	if err != nil {
		return nil, err
	}
	defer s.log.release()
	b := make([]byte, n)
	if _, err := f.ReadAt(b, pos); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.log.path(), err)
	}
	return b, nil
}

// scan walks the batches of the log file, see the function of that name.
func (s *segment) scan(pos, end int64, whole bool, visit func(batch.Header, int64, []byte) bool) (int64, error) {
	f, err := s.log.acquire()
	if err != nil {
		return pos, err
	}
	defer s.log.release()
	at, err := scan(f, pos, end, whole, visit)
	if err != nil && !errors.Is(err, errTorn) {
		err = fmt.Errorf("read %s: %w", s.log.path(), err)
	}
	return at, err
}

// openIndexes takes over the entries that are in the files of the indexes, given
// their sizes; a negative one means that there is no file.
//
// The last segment may have none of both: they are made with their first entries.
func (s *segment) openIndexes(offsets, times int64, last bool) error {
	switch {
	case last && offsets < 0 && times < 0:
		return nil
	case offsets < 0 || times < 0:
		return errBadIndex
	}
	if err := s.offsets.open(offsets, s.size); err != nil {
		return err
	}
	return s.times.open(times, s.size)
}

// errBadIndex says that an index cannot be what belongs to its log.
var errBadIndex = errors.New("index does not fit its log")

// open takes over an index file of some size. A torn entry at its end is cut
// off; entries that cannot be, such as the zeros that Kafka lays out ahead in
// the file of an active segment, make it bad.
func (x *index) open(size, logSize int64) error {
	n := int(size / int64(x.width))
	if int64(n) > logSize/batch.HeaderSize+1 {
		return errBadIndex
	}
	x.n = n
	if n == 0 {
		return nil
	}
	last, err := x.view().at(n - 1)
	if err != nil {
		return err
	}
	bad := last.offset < x.file.base
	if x.width == offsetEntrySize {
		bad = bad || last.pos <= 0 || last.pos >= logSize
	} else {
		bad = bad || n > 1 && last.time <= 0
	}
	if bad {
		return errBadIndex
	}
	x.last = last
	return nil
}

// settleTimes finds the largest timestamp for the writer, who goes on from what
// can be read: a header that has rotted is for those to find who read there.
func (s *segment) settleTimes() error {
	_, err := s.findTimes(true)
	return err
}

// findTimes gives the largest timestamp, noTime without any, and remembers it.
// In a segment that was opened from disk it is that of the last time index
// entry, or a later one in the batches after it; errTorn when one of those cannot
// be read, unless with lenient set they do not count. Who calls it holds writer,
// or shape.
func (s *segment) findTimes(lenient bool) (int64, error) {
	s.mu.RLock()
	known, largest, largestAt := s.timesKnown, s.maxTime, s.maxTimeAt
	size, last, indexed, offsets := s.size, s.times.last, s.times.len() > 0, s.offsets.view()
	s.mu.RUnlock()
	if known {
		return largest, nil
	}
	from := int64(0)
	if indexed {
		e, ok, err := offsets.floorOffset(last.offset)
		if err != nil {
			return noTime, err
		}
		if ok {
			from = e.pos
		}
	}
	largest, largestAt = last.time, last.offset
	_, err := s.scan(from, size, false, func(h batch.Header, _ int64, _ []byte) bool {
		if h.MaxTimestamp > largest {
			largest, largestAt = h.MaxTimestamp, h.Last()
		}
		return true
	})
	if err != nil && !(lenient && errors.Is(err, errTorn)) {
		return noTime, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.timesKnown { // the writer may have been here meanwhile, and have appended
		s.timesKnown, s.maxTime, s.maxTimeAt = true, largest, largestAt
	}
	return s.maxTime, nil
}

// loadFirstTime gives the max timestamp of the first batch, noTime without one.
// It takes no writer, like findTimes.
func (s *segment) loadFirstTime() (int64, error) {
	s.mu.RLock()
	first, size := s.firstTime, s.size
	s.mu.RUnlock()
	if first != noTime || size == 0 {
		return first, nil
	}
	_, err := s.scan(0, size, false, func(h batch.Header, _ int64, _ []byte) bool {
		first = h.MaxTimestamp
		return false
	})
	if err != nil {
		return noTime, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.firstTime = first
	return first, nil
}

// lastModifiedMs is the time of the log file, for segments without timestamps.
func (s *segment) lastModifiedMs() (int64, error) {
	info, err := s.log.folder.fs.Stat(s.log.path())
	if err != nil {
		return 0, err
	}
	return info.ModTime().UnixMilli(), nil
}

// largestTime is what retention by time compares: the largest timestamp, or the
// time of the file when the records have none or cannot be read.
func (s *segment) largestTime() (int64, error) {
	largest, err := s.findTimes(false)
	switch {
	case err != nil && !errors.Is(err, errTorn):
		return 0, err
	case err == nil && largest >= 0:
		return largest, nil
	}
	return s.lastModifiedMs()
}

// rename gives all files of the segment another ending, the log last.
func (s *segment) rename(extra string) error {
	for i, f := range s.files() {
		if err := f.rename(segmentSuffixes[i] + extra); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes all files of the segment. Who still reads them goes on.
func (s *segment) remove() error {
	for _, f := range s.files() {
		if err := f.retire(); err != nil {
			return err
		}
		if err := f.folder.fs.Remove(f.path()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (s *segment) closeIdle() error {
	var errs []error
	for _, f := range s.files() {
		errs = append(errs, f.closeIdle())
	}
	return errors.Join(errs...)
}

// indexPending tells whether index entries are not in the files yet.
func (s *segment) indexPending() bool { return len(s.offsets.pending)+len(s.times.pending) > 0 }

// flushIndexes writes the pending entries of a segment's indexes. The time index
// comes first: recovery begins to scan at the last offset entry and relies on
// the time index to cover all that lies before.
func (s *segment) flushIndexes() error {
	for _, x := range [...]*index{&s.times, &s.offsets} {
		if err := x.write(x.n, x.pending); err != nil {
			return err
		}
		s.mu.Lock()
		x.n += len(x.pending)
		s.indexUnsaved = s.indexUnsaved || len(x.pending) > 0
		x.pending = nil
		s.mu.Unlock()
	}
	s.sinceFlush = 0
	return nil
}

// finishIndexes adds the final entry of the time index and writes what is
// pending.
func (s *segment) finishIndexes() error {
	if err := s.settleTimes(); err != nil {
		return err
	}
	s.mu.Lock()
	s.indexTime()
	s.mu.Unlock()
	if err := s.flushIndexes(); err != nil {
		return err
	}
	return s.bearIndexes()
}

// bearIndexes makes the files of the indexes of a segment that holds something:
// Kafka wants them from all but a node that has crashed.
func (s *segment) bearIndexes() error {
	if s.size == 0 {
		return nil
	}
	return errors.Join(s.offsets.file.bear(), s.times.file.bear())
}

// syncIndexes makes the indexes of a segment durable, unless they are.
func (s *segment) syncIndexes() error {
	s.mu.Lock()
	due := s.indexUnsaved
	s.indexUnsaved = false
	s.mu.Unlock()
	if !due {
		return nil
	}
	if err := errors.Join(syncFile(s.offsets.file), syncFile(s.times.file)); err != nil {
		s.mu.Lock()
		s.indexUnsaved = true // for want of open files; else there is no next time
		s.mu.Unlock()
		return err
	}
	list, err := s.aborted.all()
	if err != nil || len(list) == 0 {
		return err
	}
	return syncFile(s.aborted.file)
}
