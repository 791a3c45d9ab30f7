package transport

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/ottla/ottla/internal/base/wire"
)

const (
	readAhead = 4 << 10  // buffered below the frames, so that small requests share a system call
	firstGulp = 64 << 10 // memory given to a frame of a connection that has not sent larger ones yet
)

// errForeign is a frame whose size cannot be one of Kafka's.
type errForeign struct {
	head [wire.FrameHead]byte
	max  int
}

func (e errForeign) Error() string {
	return fmt.Sprintf("frame of %d bytes (at most %d): looks like %s", wire.Size(e.head), e.max, wire.Looks(e.head))
}

// errHalfFrame is a connection that ended inside a frame.
var errHalfFrame = errors.New("connection ended inside a request")

// frameReader reads length-prefixed frames. A length alone commits little
// memory: a frame beyond what the connection is trusted with gets its buffer
// as its bytes arrive.
type frameReader struct {
	src     *bufio.Reader
	max     int // socket.request.max.bytes
	trusted int // bytes that may be allocated on the word of a length
}

func newFrameReader(c net.Conn, maxBytes int) *frameReader {
	return &frameReader{src: bufio.NewReaderSize(c, readAhead), max: maxBytes, trusted: firstGulp}
}

// head reads the size of the next frame. A clean end before it is io.EOF.
func (r *frameReader) head() (int, error) {
	head, err := r.src.Peek(wire.FrameHead)
	switch {
	case err == io.EOF && len(head) > 0:
		return 0, errHalfFrame
	case err != nil:
		return 0, err
	}
	h := [wire.FrameHead]byte(head)
	n := wire.Size(h)
	if n < 0 || n > r.max {
		return 0, errForeign{h, r.max}
	}
	_, err = r.src.Discard(wire.FrameHead)
	return n, err
}

// body reads the n bytes of a frame into a buffer that the caller puts back.
func (r *frameReader) body(n int) (*buffer, error) {
	buf := getBuffer(min(n, r.trusted))
	for {
		have := len(buf.b)
		end := min(n, cap(buf.b))
		m, err := io.ReadFull(r.src, buf.b[have:end])
		buf.b = buf.b[:have+m]
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			buf.put()
			return nil, errHalfFrame
		case err != nil:
			buf.put()
			return nil, err
		case end == n:
			r.trusted = max(r.trusted, n)
			return buf, nil
		}
		buf = buf.grow(min(n, 2*cap(buf.b)))
	}
}
