package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/invariant"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Appended tells what became of an append.
type Appended struct {
	Base kafka.Offset // of the first record
	End  kafka.Offset // one past the last
	// AppendTime is the time that LogAppendTime gave the records, in
	// milliseconds, or -1.
	AppendTime int64
	// Duplicate says that the batch was in the log already: Base and End are
	// those of the first time and nothing was written.
	Duplicate bool
	Rolled    bool // a new segment was begun
}

// ErrGap says that the first batch of a follower's append does not continue the
// log: it begins below its end, or its batches are out of order.
var ErrGap = errors.New("batches do not continue the log")

// AppendLeader gives the batches in b their offsets and the leader epoch, in
// place, and appends them. The batches were validated before; what is checked
// here is what their producer wrote earlier, and nothing is changed unless all
// of them pass. With LogAppendTime the caller has set the time already.
//
// Nothing is synced here: the caller of Sync sees to flush.messages, and Tick to
// flush.ms. b is not kept.
func (l *Log) AppendLeader(b []byte, epoch kafka.Epoch) (Appended, error) {
	return l.AppendFrom(b, epoch, Origin{})
}

// AppendFrom is AppendLeader of batches whose origin matters to the transactions
// of the log.
func (l *Log) AppendFrom(b []byte, epoch kafka.Epoch, from Origin) (Appended, error) {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usable(); err != nil {
		return Appended{}, err
	}
	if len(b) > l.config().SegmentBytes {
		return Appended{}, kerr.Errorf(kerr.RecordListTooLarge,
			"%d bytes do not fit a segment of %d", len(b), l.config().SegmentBytes)
	}
	result := Appended{Base: l.end, AppendTime: -1}
	next, size := l.end, 0
	for h, bytes := range batch.All(b) {
		dup, err := appending{l}.checkProducer(h, bytes, from)
		if err != nil {
			return Appended{}, err
		}
		if dup.duplicate {
			return Appended{Base: dup.base, End: dup.end, AppendTime: appendTime(h, dup.time), Duplicate: true}, nil
		}
		if h.LogAppendTime() {
			result.AppendTime = h.MaxTimestamp
		}
		size += len(bytes)
		next += kafka.Offset(h.LastOffsetDelta) + 1
	}
	if size != len(b) || size == 0 {
		return Appended{}, kerr.Errorf(kerr.CorruptMessage, "%d of %d bytes are whole batches", size, len(b))
	}
	if next < l.end {
		return Appended{}, fmt.Errorf("no offsets are left behind %d", l.end)
	}
	stamp(b, l.end, epoch)
	result.End = next
	rolled, err := appending{l}.append(b, result.Base, next)
	result.Rolled = rolled
	return result, err
}

func appendTime(h batch.Header, stored int64) int64 {
	if h.LogAppendTime() {
		return stored
	}
	return -1
}

// stamp gives batches their offsets and leader epoch.
func stamp(b []byte, next kafka.Offset, epoch kafka.Epoch) {
	for h, bytes := range batch.All(b) {
		batch.SetBaseOffset(bytes, next)
		batch.SetLeaderEpoch(bytes, epoch)
		next += kafka.Offset(h.LastOffsetDelta) + 1
	}
}

func (l appending) checkProducer(h batch.Header, b []byte, from Origin) (verdict, error) {
	if !h.HasProducer() {
		return verdict{}, nil
	}
	if h.Control() {
		m, ok := parseMarker(h, b)
		if !ok {
			return verdict{}, nil
		}
		return verdict{}, l.producers.checkMarker(h, m.coordinator, from.TransactionVersion)
	}
	if v := l.producers.duplicate(h); v.duplicate {
		return v, nil
	}
	if from.Verified && h.Transactional() && !l.producers.isOpen(h.ProducerID, h.ProducerEpoch) {
		if err := l.verifying.admit(h, from); err != nil {
			return verdict{}, err
		}
	}
	return verdict{}, l.producers.check(h, l.verifying.byID[h.ProducerID])
}

// AppendFollower appends batches as the leader of an epoch sent them. They must
// continue the log: the first may begin above its end, where the leader's
// compaction left a gap, but not below. Each must be whole with the right
// checksum; a part of a batch at the end of b is passed over. So is everything
// from the first batch of a higher epoch on: it was not the leader of this one
// who sent it (KAFKA-18723). It is also the way a raft follower appends.
func (l *Log) AppendFollower(b []byte, epoch kafka.Epoch) (Appended, error) {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usable(); err != nil {
		return Appended{}, err
	}
	result := Appended{Base: l.end, End: l.end, AppendTime: -1}
	size := 0
	for h, bytes := range batch.All(b) {
		if h.LeaderEpoch > epoch {
			break
		}
		if h.BaseOffset < result.End {
			return Appended{}, fmt.Errorf("%w: batch at %d after %d", ErrGap, h.BaseOffset, result.End)
		}
		if !batch.CheckCRC(bytes) {
			return Appended{}, kerr.Errorf(kerr.CorruptMessage, "checksum of the batch at %d", h.BaseOffset)
		}
		if size == 0 {
			result.Base = h.BaseOffset
		}
		size += len(bytes)
		result.End = h.End()
	}
	if err := whole(b[size:], size); err != nil || size == 0 {
		return result, err
	}
	rolled, err := appending{l}.append(b[:size], result.Base, result.End)
	result.Rolled = rolled
	return result, err
}

// whole tells a batch that is cut short, as the end of a fetch may be, from
// bytes that can be no batch.
func whole(rest []byte, before int) error {
	if len(rest) == 0 {
		return nil
	}
	if _, err := batch.ParseHeader(rest); err != nil && !errors.Is(err, batch.ErrShort) {
		return kerr.Errorf(kerr.CorruptMessage, "behind %d bytes: %v", before, err)
	}
	return nil
}

// appending is what an append does to a log whose writer is held.
type appending struct{ *Log }

// append writes whole batches, in order, at the end of the log.
func (l appending) append(b []byte, base, end kafka.Offset) (rolled bool, err error) {
	maxTime := noTime
	for h := range batch.All(b) {
		maxTime = max(maxTime, h.MaxTimestamp)
	}
	if rolled, err = l.rollIfDue(len(b), end, maxTime); err != nil {
		return rolled, l.refuse("roll", err)
	}
	active := l.active()
	if err := active.settleTimes(); err != nil {
		return rolled, l.refuse("append", err)
	}
	if err := write(active.log, b, active.size); err != nil {
		return rolled, l.refuse("append", err)
	}
	news := l.publish(active, b, base, end)
	if active.log.takeFresh() {
		l.mu.Lock()
		l.dirSaved = false
		l.mu.Unlock()
	}
	for _, t := range news.aborted {
		// Before the caller can raise the high watermark over the marker, and
		// with it the last stable offset, the index knows the transaction.
		if err := active.aborted.add(t); err != nil {
			return rolled, l.fail("append", err)
		}
	}
	// The records are in the log: what cannot be written for want of open files
	// is written with one of the next.
	if err := l.afterAppend(active, len(b)); err != nil && !vfs.TooManyFiles(err) {
		return rolled, l.fail("append", err)
	}
	return rolled, nil
}

func write(f *file, b []byte, pos int64) error {
	opened, err := f.acquire()
	if err != nil {
		return err
	}
	defer f.release()
	_, err = opened.WriteAt(b, pos)
	return err
}

// news is what an append brings beside its records.
type news struct{ aborted []AbortedTxn }

// publish makes written batches part of the log for all who read.
func (l appending) publish(s *segment, b []byte, base, end kafka.Offset) (n news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if base < l.end || end <= base { // asked here, as the arguments of Check are made in any case
		invariant.Check(false, "append of [%d, %d) to a log that ends at %d", base, end, l.end)
	}
	pos, now := s.size, l.nowMs()
	s.marks.add(base, pos)
	for h, bytes := range batch.All(b) {
		s.took(h, pos, l.config().IndexIntervalBytes)
		pos += int64(len(bytes))
		if l.epochs.assign(h.LeaderEpoch, h.BaseOffset) {
			l.epochsBehind, l.epochsSaved = true, false
		}
		if t, aborted := l.producers.took(h, bytes, now); aborted {
			n.aborted = append(n.aborted, t)
		}
		if h.Transactional() {
			l.verifying.end(h.ProducerID)
		}
	}
	s.unsynced = true
	l.end = end
	l.size.Add(int64(len(b)))
	return n
}

// took brings the producer state up to a batch that is in the log. It gives the
// transaction that the batch aborted.
func (ps *producers) took(h batch.Header, b []byte, nowMs int64) (AbortedTxn, bool) {
	if !h.HasProducer() {
		return AbortedTxn{}, false
	}
	if !h.Control() {
		ps.appended(h, nowMs)
		return AbortedTxn{}, false
	}
	m, ok := parseMarker(h, b)
	if !ok {
		return AbortedTxn{}, false
	}
	done, ended := ps.marked(h, m.coordinator, nowMs)
	if !ended || m.commit {
		return AbortedTxn{}, false
	}
	stable := min(ps.firstOpen(), done.last+1)
	return AbortedTxn{Producer: done.producer, First: done.first, Last: done.last, Stable: stable}, true
}

// marker is the end of a transaction.
type marker struct {
	commit      bool
	coordinator int32
}

// endTxnSize is an EndTxnMarker: int16 version, int32 coordinator epoch.
const endTxnSize = 6

// parseMarker reads the one record of a control batch, if it is a transaction
// marker.
func parseMarker(h batch.Header, b []byte) (marker, bool) {
	d := batch.NewDecoder(len(b))
	for r, err := range d.Records(b) {
		if err != nil {
			return marker{}, false
		}
		t, err := batch.ParseControlKey(r.Key)
		if err != nil || t != batch.Commit && t != batch.Abort || len(r.Value) < endTxnSize {
			return marker{}, false
		}
		return marker{t == batch.Commit, int32(binary.BigEndian.Uint32(r.Value[2:]))}, true
	}
	return marker{}, false
}

// snapshotEvery is how many bytes of log there are at most between two producer
// snapshots: after a crash of the process so much is read again.
const snapshotEvery = 16 << 20

// afterAppend does what is due from time to time.
func (l appending) afterAppend(s *segment, bytes int) error {
	l.stir()
	l.snapshots.since += int64(bytes)
	if l.firstDirtyMs == 0 {
		l.firstDirtyMs = l.nowMs()
	}
	if len(s.offsets.pending) >= pendingEntries || len(s.times.pending) >= pendingEntries || s.sinceFlush >= pendingBytes {
		if err := errors.Join(l.saveEpochs(), s.flushIndexes()); err != nil {
			return err
		}
	}
	if l.snapshots.since >= snapshotEvery {
		if err := l.snapshots.write(l.end, &l.producers, l.segments); err != nil {
			return err
		}
	}
	return nil
}

// rollIfDue begins a new segment when the set to be appended must not, or can
// not, go to the active one. Its base is the end of the log, also when the set
// begins later, so that recovery can tell from a hole between two segments that
// the end of the first was lost.
func (l appending) rollIfDue(size int, end kafka.Offset, maxTime int64) (bool, error) {
	s, cfg := l.active(), l.config()
	if s.size == 0 && s.fits(end-1) {
		return false, nil
	}
	due := s.size > int64(cfg.SegmentBytes)-int64(size) || s.indexFull(cfg.SegmentIndexBytes) || !s.fits(end-1)
	if !due {
		old, err := l.oldEnough(s, maxTime)
		if err != nil || !old {
			return false, err
		}
	}
	return true, l.roll(max(l.end, end-1-math.MaxInt32))
}

// oldEnough tells whether segment.ms has passed: by the records' time if they
// have one, else, or when the first batch cannot be read, by our clock.
func (l appending) oldEnough(s *segment, maxTime int64) (bool, error) {
	first, err := s.loadFirstTime()
	if err != nil && !errors.Is(err, errTorn) {
		return false, err
	}
	age := l.nowMs() - s.createdMs
	if maxTime >= 0 && first >= 0 {
		age = maxTime - first
	}
	most := l.config().SegmentMs
	if l.config().CleanupCompact {
		// The active segment is never compacted, so it must end in time.
		most = min(most, l.config().MaxCompactionLagMs)
	}
	return age > most-s.jitterMs, nil
}

// Roll begins a new segment at the end of the log, unless the active one is
// empty.
func (l *Log) Roll() error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usable(); err != nil || l.active().size == 0 {
		return err
	}
	return l.refuse("roll", appending{l}.roll(l.end))
}

func (l appending) roll(base kafka.Offset) error {
	old := l.active()
	if err := l.saveEpochs(); err != nil {
		return err
	}
	if err := old.finishIndexes(); err != nil {
		return err
	}
	if err := l.snapshots.write(base, &l.producers, l.segments); err != nil {
		return err
	}
	fresh := l.newSegment(base, 0, "")
	fresh.timesKnown = true
	if err := create(fresh); err != nil {
		// Files of a segment that the log does not have would be taken for it at
		// the next start.
		if failed := fresh.remove(); failed != nil {
			return failed
		}
		return err
	}
	list := append(l.segments[:len(l.segments):len(l.segments)], fresh)
	if old.size == 0 {
		// Its offsets could not be written relative to its base.
		list = append(l.segments[:len(l.segments)-1:len(l.segments)-1], fresh)
		if err := old.remove(); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = list
	l.dirSaved = false
	return nil
}

// create makes the files of a new segment, empty even where old ones lie.
func create(s *segment) error {
	for _, f := range []*file{s.log, s.offsets.file, s.times.file} {
		opened, err := f.acquireNew()
		if err != nil {
			return err
		}
		err = opened.Truncate(0)
		f.release()
		if err != nil {
			return err
		}
	}
	return rewriteAborted(s.aborted.file, nil)
}
