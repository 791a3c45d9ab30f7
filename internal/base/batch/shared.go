package batch

import (
	"errors"
	"iter"
)

// SharedRecords is Records for those who read what clients have written and have no
// memory of their own set aside for it: compaction, and coordinators that load. It
// waits for a share of the memory that all have for decompression, and holds it
// until the walk of the batch ends. So whoever walks may compute, but not wait for
// others.
func (d *Decoder) SharedRecords(b []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := d.walkShared(b, func(r Record) bool { return yield(r, nil) }); err != nil {
			yield(Record{}, err)
		}
	}
}

func (d *Decoder) walkShared(b []byte, yield func(Record) bool) error {
	h, err := ParseHeader(b)
	if err != nil || len(b) < h.Size() || h.Codec() == None {
		return d.walk(b, d.limit(), yield)
	}
	quick := min(d.limit(), quickLimit)
	err = d.walkQuick(b, h, quick, yield)
	if quick == d.limit() || !errors.Is(err, ErrTooLarge) {
		return err
	}
	taken := largeBudget.take(d.limit())
	defer largeBudget.give(taken)
	return d.walk(b, d.limit(), yield)
}

func (d *Decoder) walkQuick(b []byte, h Header, limit int, yield func(Record) bool) error {
	from, taken, err := takeQuick(b[:h.Size()], h)
	if err != nil {
		return err
	}
	defer from.give(taken)
	return d.walk(b, limit, yield)
}

// walk is Records with a limit of its own. Of what was decompressed nothing large
// is kept. ErrTooLarge comes before any record.
func (d *Decoder) walk(b []byte, limit int, yield func(Record) bool) error {
	defer func(before int) { d.Limit = before }(d.Limit)
	defer d.release()
	d.Limit = limit
	for r, err := range d.Records(b) {
		if err != nil {
			return err
		}
		if !yield(r) {
			return nil
		}
	}
	return nil
}
