package batch

import (
	"errors"
	"fmt"
	"iter"
)

// errStop ends a walk that its caller does not want to go on.
var errStop = errors.New("stop")

// Shapes walks the records of the one whole batch b for their offsets and times
// alone: keys, values and headers are not given. Unlike with Records, memory does
// not grow with them, so this is for walks that clients can ask for; it may wait
// for a share of the memory that all requests have for decompression. At most limit
// bytes are decompressed, 0 means DefaultLimit. Errors are those of Records.
func Shapes(b []byte, limit int) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := walkShapes(b, limit, func(r Record) bool { return yield(r, nil) }); err != nil {
			yield(Record{}, err)
		}
	}
}

func walkShapes(b []byte, limit int, yield func(Record) bool) error {
	if limit <= 0 {
		limit = DefaultLimit
	}
	h, err := ParseHeader(b)
	switch {
	case err != nil:
		return err
	case len(b) < h.Size():
		return ErrShort
	}
	b = b[:h.Size()]
	quick := limit
	if h.Codec() != None {
		quick = min(limit, quickLimit)
	}
	err = walkQuick(b, h, quick, yield)
	if quick < limit && errors.Is(err, ErrTooLarge) {
		err = walkLarge(b, h, limit, yield)
	}
	return err
}

func walkQuick(b []byte, h Header, limit int, yield func(Record) bool) error {
	from, taken, err := takeQuick(b, h)
	if err != nil {
		return err
	}
	defer from.give(taken)
	d := decoders.Get().(*Decoder)
	defer func() {
		d.release()
		decoders.Put(d)
	}()
	d.Limit = limit
	for r, err := range d.Records(b) {
		if err != nil {
			return err
		}
		r.Key, r.Value, r.Headers = nil, nil, nil
		if !yield(r) {
			return nil
		}
	}
	return nil
}

func walkLarge(b []byte, h Header, limit int, yield func(Record) bool) error {
	began := false
	walk := func(t *tape) error {
		for range h.Count {
			f, err := t.next()
			if err != nil {
				return err
			}
			f.key = nil
			began = true
			if !yield(f.record(h)) {
				return errStop
			}
		}
		return t.ended()
	}
	err := withTape(b, h, limit, usualZstdWindow, walk)
	if isWindow(err) && !began {
		err = withTape(b, h, limit, maxZstdWindow, walk)
	}
	switch {
	case err == errStop:
		return nil
	case isWindow(err):
		return fmt.Errorf("%w: the windows of its frames differ", ErrCorrupt)
	}
	return err
}
