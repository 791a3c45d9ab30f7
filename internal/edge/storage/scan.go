package storage

import (
	"errors"
	"io"
	"sync"

	"github.com/ottla/ottla/internal/base/batch"
)

// A scan reads firstRead bytes at first, as most look for a batch nearby, and
// then more with each read, up to scanBuffer.
const (
	firstRead  = 4 << 10
	scanBuffer = 64 << 10
)

var scanBuffers = sync.Pool{New: func() any { return new([scanBuffer]byte) }}

// errTorn stops a scan: what follows is no whole batch.
var errTorn = errors.New("no whole batch")

// scan walks the headers of the batches in bytes [pos, end) of a file and calls
// visit with the position of each, until visit returns false. It returns where
// it stopped: at end, at the batch visit refused, or, with errTorn, at the first
// bytes that are no batch or not a whole one.
//
// With whole set, visit also gets all bytes of the batch, which are good until
// it returns; else nil.
func scan(f io.ReaderAt, pos, end int64, whole bool, visit func(h batch.Header, pos int64, b []byte) bool) (int64, error) {
	buffer := scanBuffers.Get().(*[scanBuffer]byte)
	defer scanBuffers.Put(buffer)
	s := scanner{f: f, end: end, buf: buffer[:], chunk: firstRead, whole: whole}
	for pos < end {
		h, b, err := s.next(pos)
		if err != nil {
			return pos, err
		}
		if !visit(h, pos, b) {
			return pos, nil
		}
		pos += int64(h.Size())
	}
	return pos, nil
}

// scanner reads a file ahead in large pieces.
type scanner struct {
	f     io.ReaderAt
	end   int64
	whole bool

	buf   []byte
	chunk int   // how much to read next
	from  int64 // buf[:n] are the file's bytes from here on
	n     int
}

func (s *scanner) next(pos int64) (batch.Header, []byte, error) {
	b, err := s.bytes(pos, batch.HeaderSize)
	if err != nil {
		return batch.Header{}, nil, err
	}
	h, err := batch.ParseHeader(b)
	if err != nil || pos+int64(h.Size()) > s.end {
		return batch.Header{}, nil, errTorn
	}
	if !s.whole {
		return h, nil, nil
	}
	b, err = s.bytes(pos, h.Size())
	return h, b, err
}

// bytes gives n bytes of the file from pos on, reading ahead. The length of a
// batch was checked against the end of the file, so a buffer for it is at most
// as large as the file.
func (s *scanner) bytes(pos int64, n int) ([]byte, error) {
	if pos+int64(n) > s.end {
		return nil, errTorn
	}
	if at := pos - s.from; at >= 0 && at+int64(n) <= int64(s.n) {
		return s.buf[at : at+int64(n)], nil
	}
	if n > len(s.buf) {
		s.buf = make([]byte, n)
	}
	want := min(int64(max(s.chunk, n)), s.end-pos)
	s.chunk = min(4*s.chunk, len(s.buf))
	got, err := s.f.ReadAt(s.buf[:want], pos)
	s.from, s.n = pos, got
	if got < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = errTorn
		}
		return nil, err
	}
	return s.buf[:n], nil
}
