package batch

import (
	"bytes"
	"errors"
	"sync"

	"github.com/ottla/ottla/internal/base/kerr"
)

// quickLimit is up to which size a batch is decompressed as a whole to look at
// it. It is a little less than what a pool keeps, as buffers are rounded up.
const quickLimit = keptScratch - 32<<10

var decoders = sync.Pool{New: func() any { return new(Decoder) }}

// decompressLimit is how many bytes a batch may hold.
func (p Policy) decompressLimit() int {
	if p.MaxDecompressed > 0 {
		return min(p.MaxDecompressed, DefaultLimit)
	}
	return DefaultLimit
}

// validateCompressed looks at a batch as a whole if it is small when
// decompressed. Others go past a window, so that a request of some hundred
// kilobytes cannot ask for gigabytes, and are decompressed as a whole only if
// they must be written again.
func validateCompressed(b []byte, h Header, p Policy) (Produced, error) {
	limit := p.decompressLimit()
	out, err := validateQuick(b, h, p, min(limit, quickLimit))
	if limit > quickLimit && errors.Is(err, ErrTooLarge) {
		out, err = validateLarge(b, h, p, limit)
	}
	return out, refuseBody(h, limit, err)
}

func validateQuick(b []byte, h Header, p Policy, limit int) (Produced, error) {
	from, taken, err := takeQuick(b, h)
	if err != nil {
		return Produced{}, err
	}
	defer from.give(taken)
	d := decoders.Get().(*Decoder)
	defer func() {
		d.release()
		decoders.Put(d)
	}()
	d.Limit = limit
	body, err := d.body(h, b)
	if err != nil {
		return Produced{}, err
	}
	return validateBody(b, h, body, p)
}

// takeQuick takes what it needs to decompress quickLimit bytes as a whole.
func takeQuick(b []byte, h Header) (from *budget, taken int, err error) {
	needs, err := h.Codec().wholeNeeds(b[HeaderSize:])
	if err != nil {
		return nil, 0, err
	}
	from = quickBudget
	if needs > keptScratch {
		from = largeBudget
	}
	return from, from.take(keptScratch + needs), nil
}

// validateLarge never holds one share of memory while it waits for another.
func validateLarge(b []byte, h Header, p Policy, limit int) (Produced, error) {
	s, size, err := surveyLarge(b, h, p, limit, usualZstdWindow)
	if isWindow(err) { // levels 20 to 22, one at a time
		s, size, err = surveyLarge(b, h, p, limit, maxZstdWindow)
	}
	if err != nil {
		return Produced{}, err
	}
	target, rebuilt, err := s.target(h, p)
	switch {
	case err != nil:
		return Produced{}, err
	case !rebuilt:
		return keep(b, h, s, p), nil
	case target == None && p.MaxBytes > 0 && HeaderSize+size > p.MaxBytes:
		return Produced{}, kerr.Errorf(kerr.MessageTooLarge, "the batch has %d bytes uncompressed, more than max.message.bytes %d", HeaderSize+size, p.MaxBytes)
	}
	return rebuildLarge(b, h, s, size, p, target)
}

// surveyLarge walks the records without holding them and tells how large they
// are together.
func surveyLarge(b []byte, h Header, p Policy, limit, window int) (s survey, size int, err error) {
	err = withTape(b, h, limit, window, func(t *tape) error {
		var err error
		s, err = surveyStream(h, t, p)
		size = t.at
		return err
	})
	return s, size, err
}

// withTape decompresses a batch of at most limit bytes past a window, with a
// share of the common memory for the time that use runs.
func withTape(b []byte, h Header, limit, window int, use func(*tape) error) error {
	src := b[HeaderSize:]
	needs, err := h.Codec().streamNeeds(src, window)
	switch {
	case err != nil:
		return err
	case needs > limit && h.Codec() == Snappy:
		return ErrTooLarge // a block alone is
	}
	taken := largeBudget.take(needs + tapeWindow)
	defer largeBudget.give(taken)
	r, done, err := h.Codec().inflate(src, window)
	if err != nil {
		return err
	}
	defer done()
	t := tapes.Get().(*tape)
	t.begin(r, limit)
	err = use(t)
	t.r = nil
	tapes.Put(t)
	return err
}

// rebuildLarge decompresses size bytes, as they were surveyed, into a buffer that
// nobody keeps. Writing them again takes as much once more.
func rebuildLarge(b []byte, h Header, s survey, size int, p Policy, target Codec) (Produced, error) {
	src := b[HeaderSize:]
	needs, err := h.Codec().wholeNeeds(src)
	if err != nil {
		return Produced{}, err
	}
	taken := largeBudget.take(2*size + needs)
	defer largeBudget.give(taken)
	room := make([]byte, 0, size+bytes.MinRead) // one more read sees the end
	body, err := h.Codec().Decompress(room, src, size)
	if err != nil {
		return Produced{}, err
	}
	return rebuild(h, body, s, p, target)
}

// refuseBody turns what decompression says into an answer; others stay.
func refuseBody(h Header, limit int, err error) error {
	switch {
	case errors.Is(err, ErrTooLarge):
		return kerr.Errorf(kerr.MessageTooLarge, "the batch holds more than %d bytes when decompressed", limit)
	case errors.Is(err, ErrCorrupt):
		return kerr.Errorf(kerr.InvalidRecord, "the batch does not decompress as %v: %v", h.Codec(), err)
	}
	return err
}
