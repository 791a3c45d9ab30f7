package batch

import (
	"fmt"
	"iter"
)

// keptScratch is the largest buffer that outlives the batch it was made for.
const keptScratch = 1 << 20

// Decoder reads the records of batches, one batch after the other, and keeps
// its buffer between them. The zero value is ready. It is not safe for
// concurrent use.
type Decoder struct {
	// Limit is how many bytes one batch may hold when decompressed; 0 means
	// DefaultLimit.
	Limit   int
	scratch []byte
}

// NewDecoder makes a decoder that gives ErrTooLarge for batches of more than
// limit bytes when decompressed.
func NewDecoder(limit int) *Decoder { return &Decoder{Limit: limit} }

// Records walks the records of the one whole batch b. Records of a compressed
// batch live until the next call; those of others lie in b. An error
// (ErrCorrupt, ErrTooLarge, ErrShort) is the last thing yielded. The checksum is
// not looked at.
func (d *Decoder) Records(b []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		h, body, err := d.open(b)
		if err != nil {
			yield(Record{}, err)
			return
		}
		c := cursor{b: body}
		for i := range int(h.Count) {
			f, ok := c.next()
			if !ok {
				yield(Record{}, errRecord(i))
				return
			}
			if !yield(f.record(h), nil) {
				return
			}
		}
		if len(c.b) > 0 {
			yield(Record{}, fmt.Errorf("%w: %d bytes after the last record", ErrCorrupt, len(c.b)))
		}
	}
}

// open gives the header and the decompressed records of one whole batch.
func (d *Decoder) open(b []byte) (Header, []byte, error) {
	h, err := ParseHeader(b)
	switch {
	case err != nil:
		return h, nil, err
	case len(b) < h.Size():
		return h, nil, ErrShort
	case h.Count < 0:
		return h, nil, fmt.Errorf("%w: count %d", ErrCorrupt, h.Count)
	}
	body, err := d.body(h, b[:h.Size()])
	return h, body, err
}

func (d *Decoder) body(h Header, b []byte) ([]byte, error) {
	if h.Codec() == None {
		return b[HeaderSize:], nil
	}
	d.release()
	out, err := h.Codec().Decompress(d.scratch[:0], b[HeaderSize:], d.limit())
	d.scratch = out
	if err != nil {
		d.release()
		return nil, err
	}
	return out, nil
}

func (d *Decoder) limit() int {
	if d.Limit == 0 {
		return DefaultLimit
	}
	return d.Limit
}

// release lets go of a buffer that is too large to be kept.
func (d *Decoder) release() {
	if cap(d.scratch) > keptScratch {
		d.scratch = nil
	}
}
