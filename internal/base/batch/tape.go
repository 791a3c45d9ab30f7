package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// tapeWindow is how much of a stream is in memory.
const tapeWindow = 64 << 10

var tapes = sync.Pool{New: func() any { return &tape{buf: make([]byte, tapeWindow)} }}

// tape reads the shapes of records from a stream through a window, so that
// memory does not grow with keys and values. It is the cursor for bodies that
// are too large to hold. After a failure err is set and everything read is zero.
type tape struct {
	r   io.Reader
	err error // also io.EOF
	buf []byte
	// buf[pos:end] is decompressed and not read.
	pos, end int
	// room is how many bytes may still come.
	room int
	// at is how many bytes were read, for the lengths of records.
	at int
}

func (t *tape) begin(r io.Reader, limit int) { *t = tape{r: r, buf: t.buf, room: limit} }

// fill makes room in the window and reads once more. An error waits until the
// window is read.
func (t *tape) fill() {
	copy(t.buf, t.buf[t.pos:t.end])
	t.pos, t.end = 0, t.end-t.pos
	for empty := 0; t.err == nil; empty++ {
		n, err := t.r.Read(t.buf[t.end:])
		t.end += n
		t.room -= n
		switch {
		case t.room < 0:
			t.err, t.pos, t.end = ErrTooLarge, 0, 0
		case err != nil && err != io.EOF && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTooLarge):
			t.err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		case err != nil:
			t.err = err
		case n == 0 && empty == 100:
			t.err = fmt.Errorf("%w: %w", ErrCorrupt, io.ErrNoProgress)
		}
		if n > 0 {
			return
		}
	}
}

// fail makes nothing follow any more. An earlier failure stays, but the end of
// the stream within a record is one.
func (t *tape) fail(err error) {
	if t.err == nil || t.err == io.EOF {
		t.err = err
	}
	t.pos, t.end = 0, 0
}

var errShape = fmt.Errorf("%w: malformed record", ErrCorrupt)

func (t *tape) varlong() int64 {
	for t.end-t.pos < binary.MaxVarintLen64 && t.err == nil {
		t.fill()
	}
	v, n := binary.Varint(t.buf[t.pos:t.end])
	if n <= 0 {
		t.fail(errShape)
		return 0
	}
	t.pos += n
	t.at += n
	return v
}

func (t *tape) varint() int {
	v := t.varlong()
	if v < math.MinInt32 || v > math.MaxInt32 {
		t.fail(errShape)
		return 0
	}
	return int(v)
}

// skip passes over n bytes. More than may come at all are not waited for.
func (t *tape) skip(n int) {
	switch {
	case n < 0:
		t.fail(errShape)
		return
	case t.err == nil && n > t.end-t.pos+t.room:
		t.fail(ErrTooLarge)
		return
	}
	t.at += n
	for n > t.end-t.pos {
		n -= t.end - t.pos
		t.pos, t.end = 0, 0
		if t.err != nil {
			t.fail(errShape)
			return
		}
		t.fill()
	}
	t.pos += n
}

// nullable passes over a length and as many bytes and tells whether it was null.
func (t *tape) nullable() (null bool) {
	n := t.varint()
	if n == -1 {
		return true
	}
	t.skip(n)
	return false
}

// present stands for a key that was passed over.
var present = []byte{}

// next reads the shape of one record: its deltas, and whether there is a key.
// The rules are those of cursor.next.
func (t *tape) next() (frame, error) {
	n := t.varint()
	if n < 0 {
		t.fail(errShape)
	} else if n > t.end-t.pos+t.room {
		t.fail(ErrTooLarge)
	}
	end := t.at + n
	t.skip(1) // attributes: none are defined
	f := frame{timestampDelta: t.varlong(), offsetDelta: int32(t.varint())}
	if !t.nullable() {
		f.key = present
	}
	t.nullable()
	f.headerCount = int32(t.varint())
	if f.headerCount < 0 || int(f.headerCount) > end-t.at {
		t.fail(errShape)
	}
	for range f.headerCount {
		t.skip(t.varint())
		t.nullable()
		if t.failed() {
			return frame{}, t.err
		}
	}
	if t.at != end {
		t.fail(errShape)
	}
	if t.failed() {
		return frame{}, t.err
	}
	f.headerCount = 0 // they were passed over
	return f, nil
}

// failed tells a failure from the end of the stream, which may follow a record.
func (t *tape) failed() bool { return t.err != nil && t.err != io.EOF && t.pos == t.end }

// ended reads on to the end, where codecs check their sums: nil when it is here.
func (t *tape) ended() error {
	for t.pos == t.end && t.err == nil {
		t.fill()
	}
	switch {
	case t.pos < t.end:
		return fmt.Errorf("%w: bytes follow the last record", ErrCorrupt)
	case t.err == io.EOF:
		return nil
	}
	return t.err
}
