package storage

import (
	"errors"
	"fmt"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
)

// ErrNotMended says that a damaged segment has changed since it was read, or that
// what another replica has does not fit. The log is as it was.
var ErrNotMended = errors.New("the damaged segment stays as it is")

// Patch is what belongs in the place of a damage.
type Patch struct {
	Damage
	Batches []byte // whole, with right checksums and rising offsets, see Fit
}

// Fit takes from a fetched set of batches those that belong in the place of a
// damage. They must cover all its offsets and none beyond. With gaps set, in a
// log that was compacted, offsets may be missing, as they are here.
func (d Damage) Fit(fetched []byte, gaps bool) (Patch, error) {
	p := Patch{Damage: d}
	at := d.From
	for h, b := range batch.All(fetched) {
		switch {
		case h.End() <= d.From:
			continue
		case h.BaseOffset >= d.To:
			return p.complete(at, gaps)
		case h.BaseOffset < at, h.End() > d.To, h.BaseOffset > at && !gaps:
			return Patch{}, fmt.Errorf("%w: a batch holds %d to %d, where %d to %d are missing", ErrNotMended, h.BaseOffset, h.Last(), at, d.To-1)
		case !batch.CheckCRC(b):
			return Patch{}, fmt.Errorf("%w: the other replica's batch at %d is damaged, too", ErrNotMended, h.BaseOffset)
		}
		p.Batches, at = append(p.Batches, b...), h.End()
	}
	return p.complete(at, gaps)
}

func (p Patch) complete(at kafka.Offset, gaps bool) (Patch, error) {
	if p.To <= p.From || at < p.To && !gaps {
		return Patch{}, fmt.Errorf("%w: nothing was found from %d on, where it lacks all up to %d", ErrNotMended, at, p.To-1)
	}
	return p, nil
}

// Mend writes a segment anew, with patches for all that is damaged in it, in order,
// and puts it in the place of the old one as a compaction does: a restart completes
// that or takes it back. Before so many bytes are written pace is called.
func (l *Log) Mend(patches []Patch, pace func(bytes int) error) error {
	if len(patches) == 0 {
		return nil
	}
	base := patches[0].Segment
	s, ok, err := l.sealedFrom(base)
	if err != nil {
		return l.readError(err)
	}
	if !ok {
		return fmt.Errorf("%w: it is gone", ErrNotMended)
	}
	defer s.log.unpin()
	if last := patches[len(patches)-1]; s.base != base || last.Position+last.Bytes > s.size {
		return fmt.Errorf("%w: another one is in its place", ErrNotMended)
	}
	err = l.mendSealed(s, patches, pace)
	switch {
	case errors.Is(err, errChanged), errors.Is(err, errTorn), errors.Is(err, errStopped):
		return fmt.Errorf("%w: %w", ErrNotMended, err)
	case err == nil, errors.Is(err, ErrFailed):
		return err
	}
	return l.refuse("mending", err)
}

func (l *Log) mendSealed(s sealedSegment, patches []Patch, pace func(bytes int) error) error {
	aborted, err := s.aborted.all()
	if err != nil {
		return err
	}
	// A rewrite that keeps every batch as it is.
	r := &rewrite{Compactor: &Compactor{Pace: pace}, log: l, end: s.base, aborted: map[kafka.ProducerID][]AbortedTxn{}}
	for _, t := range aborted {
		r.aborted[t.Producer] = append(r.aborted[t.Producer], t)
	}
	r.dst = compaction{l}.aside(s.base)
	r.reached = s.base
	if err := create(r.dst); err != nil {
		return err
	}
	if err := r.patch(s, patches); err != nil {
		_ = r.dst.remove() // else the next start does it
		return err
	}
	return compaction{l}.swap([]source{s.source}, r.dst)
}

// patch copies a segment, and patches where it is damaged.
func (r *rewrite) patch(s sealedSegment, patches []Patch) error {
	pos := int64(0)
	for _, p := range patches {
		if err := r.copy(s.source, pos, p.Position); err != nil {
			return err
		}
		for h, b := range batch.All(p.Batches) {
			if err := r.batch(h, b); err != nil {
				return err
			}
		}
		pos = p.Position + p.Bytes
	}
	if err := r.copy(s.source, pos, s.size); err != nil {
		return err
	}
	return r.finish(s.next)
}

func (r *rewrite) copy(s source, from, to int64) error {
	var failed error
	f, err := s.log.acquire()
	if err != nil {
		return err
	}
	defer s.log.release()
	_, err = scan(f, from, to, true, func(h batch.Header, _ int64, b []byte) bool {
		failed = r.batch(h, b)
		return failed == nil
	})
	return errors.Join(err, failed)
}
