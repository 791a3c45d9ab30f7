package storage

import (
	"errors"
	"fmt"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// rewrite is one round of a compaction: the keys are known, the segments are
// written anew from the first on.
type rewrite struct {
	*Compactor
	log         *Log
	keys        *keyMap
	end         kafka.Offset // records from here on are kept as they are
	sealedTo    kafka.Offset // where the last source ends
	nowMs       int64
	retentionMs int64 // delete.retention.ms

	aborted map[kafka.ProducerID][]AbortedTxn
	// seen are the producers of which data of the current transaction was met
	// since the last marker.
	seen map[kafka.ProducerID]bool

	dst  *segment
	kept []AbortedTxn // whose marker stays, for the index of dst
	// reached is one past the last offset that dst accounts for; epoch is that of
	// the last batch that was read.
	reached kafka.Offset
	epoch   kafka.Epoch
}

// writeAside is how many bytes gather before they are written.
const writeAside = 1 << 20

func (r *rewrite) rewriteAll(sources []source) error {
	done := 0
	for _, group := range (compaction{r.log}).groups(sources, r.end) {
		done += len(group)
		next := r.sealedTo
		if done < len(sources) {
			next = sources[done].base
		}
		if err := r.rewriteGroup(group, next); err != nil {
			return err
		}
	}
	return nil
}

// rewriteGroup writes neighbours into one segment that reaches to next.
func (r *rewrite) rewriteGroup(group []source, next kafka.Offset) error {
	r.dst, r.kept, r.out = compaction{r.log}.aside(group[0].base), nil, r.out[:0]
	r.reached = r.dst.base
	if err := create(r.dst); err != nil {
		return err
	}
	if err := r.fill(group, next); err != nil {
		_ = r.dst.remove() // else the next start does it
		return err
	}
	return compaction{r.log}.swap(group, r.dst)
}

// aside makes a segment that the cleaner writes.
func (l compaction) aside(base kafka.Offset) *segment {
	l.writer.Lock()
	defer l.writer.Unlock()
	s := l.newSegment(base, 0, cleanedSuffix)
	s.timesKnown = true
	return s
}

func (r *rewrite) fill(group []source, next kafka.Offset) error {
	for _, s := range group {
		if err := s.scan(r.batch); err != nil {
			return err
		}
	}
	return r.finish(next)
}

// finish writes what is left of a segment that reaches to next, and syncs it.
func (r *rewrite) finish(next kafka.Offset) error {
	r.closeGap(next)
	if err := r.flush(); err != nil {
		return err
	}
	if err := r.dst.finishIndexes(); err != nil {
		return err
	}
	if len(r.kept) > 0 {
		if err := appendAborted(r.dst.aborted.file, 0, r.kept...); err != nil {
			return err
		}
	}
	return r.sync()
}

func (r *rewrite) sync() error {
	files := []*file{r.dst.offsets.file, r.dst.times.file, r.dst.log}
	if len(r.kept) > 0 {
		files = append(files, r.dst.aborted.file)
	}
	for _, f := range files {
		if err := syncFile(f); err != nil {
			return err
		}
	}
	return nil
}

// batch takes over what is to be kept of a batch.
func (r *rewrite) batch(h batch.Header, b []byte) error {
	before := len(r.out)
	r.epoch = h.LeaderEpoch
	if err := r.pace(len(b)); err != nil {
		return err
	}
	if err := r.filter(h, b); err != nil {
		return err
	}
	if len(r.out) == before {
		return nil
	}
	r.reached = h.End()
	if h.Control() {
		for _, t := range r.aborted[h.ProducerID] {
			if t.Last == h.Last() {
				r.kept = append(r.kept, t)
			}
		}
	}
	if len(r.out) >= writeAside {
		return r.flush()
	}
	return nil
}

func (r *rewrite) filter(h batch.Header, b []byte) error {
	switch {
	case h.BaseOffset >= r.end:
		r.out = append(r.out, b...)
		return nil
	case h.Count == 0:
		r.emptied(h)
		return nil
	case h.Control():
		return r.marker(h, b)
	case h.Transactional():
		r.seen[h.ProducerID] = true
		if r.isAborted(h) {
			r.emptied(h)
			return nil
		}
	}
	return r.data(h, b)
}

// isAborted tells a data batch of a transaction that was aborted.
func (r *rewrite) isAborted(h batch.Header) bool {
	if !h.Transactional() || h.Control() {
		return false
	}
	for _, t := range r.aborted[h.ProducerID] {
		if t.First <= h.BaseOffset && h.BaseOffset <= t.Last {
			return true
		}
	}
	return false
}

// data keeps the newest record of each key. A tombstone stays until the delete
// horizon of its batch, which the first compaction that meets it sets (KIP-534).
func (r *rewrite) data(h batch.Header, b []byte) error {
	horizon, set := h.DeleteHorizon()
	expired := set && horizon <= r.nowMs
	kept, tombstones, total := 0, false, 0
	for rec, err := range r.decoder.SharedRecords(b) {
		if err != nil {
			return fmt.Errorf("%w: batch at %d: %w", ErrUncleanable, h.BaseOffset, err)
		}
		total++
		if r.keeps(rec, expired) {
			kept++
			tombstones = tombstones || rec.Value == nil
		}
	}
	switch {
	case kept == 0:
		r.emptied(h)
		return nil
	case kept == total && (set || !tombstones):
		r.out = append(r.out, b...)
		return nil
	case !set && tombstones:
		horizon, set = r.nowMs+r.retentionMs, true
	}
	return r.rebuild(h, b, horizon, set, func(rec batch.Record) bool { return r.keeps(rec, expired) })
}

func (r *rewrite) keeps(rec batch.Record, expired bool) bool {
	switch {
	case rec.Offset >= r.end:
		return true
	case rec.Key == nil:
		return false // a compacted topic takes none; this one is of the time before
	}
	return r.keys.newest(rec.Key, rec.Offset) && (rec.Value != nil || !expired)
}

// marker keeps the end of a transaction while any of its data is there, and
// then until its own horizon.
func (r *rewrite) marker(h batch.Header, b []byte) error {
	hadData := r.seen[h.ProducerID]
	delete(r.seen, h.ProducerID)
	horizon, set := h.DeleteHorizon()
	switch {
	case hadData || set && horizon > r.nowMs:
		r.out = append(r.out, b...)
		return nil
	case set:
		r.emptied(h)
		return nil
	}
	return r.rebuild(h, b, r.nowMs+r.retentionMs, true, func(batch.Record) bool { return true })
}

// emptied drops a batch, or leaves its header: that of a producer's last batch,
// as its sequence would be forgotten.
func (r *rewrite) emptied(h batch.Header) {
	if h.HasProducer() && r.log.isLastOfProducer(h) {
		r.out = batch.AppendEmpty(r.out, h)
	}
}

// closeGap leaves a header without records for the offsets at the end of the
// segment whose batches are all gone. So every segment reaches to the next one,
// and one that does not has lost its end, see recovery.lossesAbove. Only a jump
// of offsets that no segment can span stays.
func (r *rewrite) closeGap(next kafka.Offset) {
	if r.reached >= next || !r.dst.fits(next-1) {
		return
	}
	r.out = batch.AppendEmpty(r.out, batch.Header{
		BaseOffset: r.reached, LastOffsetDelta: int32(next - r.reached - 1), LeaderEpoch: r.epoch,
		MaxTimestamp: batch.NoTimestamp, ProducerID: kafka.NoProducer, ProducerEpoch: -1, BaseSequence: batch.NoSequence,
	})
	r.reached = next
}

// rebuild writes a batch with some of its records.
func (r *rewrite) rebuild(h batch.Header, b []byte, horizon int64, set bool, keeps func(batch.Record) bool) error {
	opt := batch.Options{
		Codec: h.Codec(), Level: batch.DefaultLevel, BaseOffset: h.BaseOffset, LeaderEpoch: h.LeaderEpoch,
		Transactional: h.Transactional(), Control: h.Control(),
	}
	if h.LogAppendTime() {
		opt.AppendTime = &h.MaxTimestamp
	}
	if set {
		opt.DeleteHorizon = &horizon
	}
	if h.HasProducer() {
		opt.Producer = &batch.Producer{ID: h.ProducerID, Epoch: h.ProducerEpoch, Sequence: h.BaseSequence}
	}
	if r.builder == nil {
		r.builder = batch.NewBuilder(opt)
	}
	r.builder.Reset(opt)
	for rec, err := range r.decoder.SharedRecords(b) {
		if err != nil {
			return fmt.Errorf("%w: batch at %d: %w", ErrUncleanable, h.BaseOffset, err)
		}
		if keeps(rec) {
			r.builder.AddAt(rec.OffsetDelta, rec.Timestamp, rec.Key, rec.Value, rec.Headers)
		}
	}
	r.builder.SetLastOffsetDelta(h.LastOffsetDelta)
	r.out = r.builder.Build(r.out)
	return nil
}

// flush writes what has gathered to the new segment.
func (r *rewrite) flush() error {
	if len(r.out) == 0 {
		return nil
	}
	if err := r.pace(len(r.out)); err != nil {
		return err
	}
	pos := r.dst.size
	if err := write(r.dst.log, r.out, pos); err != nil {
		return err
	}
	for h, b := range batch.All(r.out) {
		r.dst.took(h, pos, r.log.config().IndexIntervalBytes)
		pos += int64(len(b))
	}
	r.out = r.out[:0]
	return r.dst.flushIndexes()
}

// swap puts a finished segment in the place of its sources. Nobody else changes
// sealed segments meanwhile; appends wait only while names change, not while the
// folder is synced.
func (l compaction) swap(group []source, dst *segment) error {
	l.sealed.Lock()
	defer l.sealed.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if !l.unchanged(group) {
		_ = dst.remove() // else the next start does it
		return errChanged
	}
	// From the rename of the log on, which comes last, the new segment counts.
	// What fails from here on fails the log: of two segments the next start sees
	// by their names which is to go.
	if err := dst.rename(swapSuffix); err != nil {
		return l.fail("compaction", err)
	}
	if err := l.fs.SyncDir(l.folder.path()); err != nil {
		if vfs.TooManyFiles(err) {
			return errors.Join(err, dst.remove()) // the originals are all there
		}
		return l.fail("compaction", err)
	}
	if err := l.replace(group, dst); err != nil {
		return l.fail("compaction", err)
	}
	err := l.fs.SyncDir(l.folder.path())
	if vfs.TooManyFiles(err) {
		return nil // a crash finds the names of before, which say the same; the next sync does it
	}
	return err
}

// replace renames the files of the sources and of the segment that comes in
// their place.
func (l compaction) replace(group []source, dst *segment) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	l.shape.Lock()
	defer l.shape.Unlock()
	at := holder(l.segments, group[0].base)
	old := l.segments[at : at+len(group)]
	list := append(append(append([]*segment(nil), l.segments[:at]...), dst), l.segments[at+len(group):]...)
	size := dst.size
	for _, s := range old {
		size -= s.size
		if err := retention(l).doom(s); err != nil {
			return err
		}
	}
	if err := dst.rename(""); err != nil {
		return err
	}
	l.mu.Lock()
	l.segments = list
	l.dirSaved = false
	l.mu.Unlock()
	l.size.Add(size)
	for _, s := range old[1:] {
		if s.base != l.snapshots.at {
			if err := l.snapshots.remove(s.base); err != nil {
				return err
			}
		}
	}
	return nil
}

// unchanged tells whether the segments are still those that were read.
func (l compaction) unchanged(group []source) bool {
	_, list := l.readable()
	at := holder(list, group[0].base)
	if at+len(group) >= len(list) {
		return false
	}
	for i, s := range group {
		now := list[at+i]
		if now != s.segment || now.size != s.size || now.log != s.log {
			return false
		}
	}
	return true
}
