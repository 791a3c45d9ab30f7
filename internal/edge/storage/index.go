package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"

	"github.com/ottla/ottla/internal/base/kafka"
)

// Sizes of index entries.
const (
	offsetEntrySize = 8
	timeEntrySize   = 12
)

// An index is written in pieces: entries gather in memory until there are
// pendingEntries of them or pendingBytes of log were written since the last
// flush. After a crash of the process the tail of the log that they would have
// covered is scanned instead, and these bounds say how much that is.
const (
	pendingEntries = 64
	pendingBytes   = 1 << 20
)

// entry is one line of an offset index (pos) or of a time index (time).
type entry struct {
	time   int64
	offset kafka.Offset
	pos    int64
}

// index is the offset index or the time index of a segment. Entries [0, n) are
// in the file, the newer ones in pending. It is read with pread, not mapped:
// a disk error is an error and not a signal.
type index struct {
	file  *file
	width int // offsetEntrySize or timeEntrySize
	n     int
	// pending is replaced, not reused, when it is flushed: readers may hold it.
	pending []entry
	last    entry // the newest entry; base offset and time -1 when there is none
}

// view is what a reader needs of an index, copied under the log's mu.
type view struct {
	file    *file
	width   int
	n       int
	pending []entry
}

func (x *index) view() view { return view{x.file, x.width, x.n, x.pending} }

func (x *index) len() int { return x.n + len(x.pending) }

func (x *index) add(e entry) {
	if x.pending == nil {
		x.pending = make([]entry, 0, pendingEntries)
	}
	x.pending = append(x.pending, e)
	x.last = e
}

func (x *index) encode(dst []byte, e entry) []byte {
	relative := uint32(e.offset - x.file.base)
	if x.width == timeEntrySize {
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.time))
		return binary.BigEndian.AppendUint32(dst, relative)
	}
	dst = binary.BigEndian.AppendUint32(dst, relative)
	return binary.BigEndian.AppendUint32(dst, uint32(e.pos))
}

func (v view) decode(b []byte) entry {
	if v.width == timeEntrySize {
		return entry{
			time:   int64(binary.BigEndian.Uint64(b)),
			offset: v.file.base + kafka.Offset(int32(binary.BigEndian.Uint32(b[8:]))),
		}
	}
	return entry{
		offset: v.file.base + kafka.Offset(int32(binary.BigEndian.Uint32(b))),
		pos:    int64(int32(binary.BigEndian.Uint32(b[4:]))),
	}
}

// write puts entries in the file behind its first n.
func (x *index) write(n int, list []entry) error {
	if len(list) == 0 {
		return nil
	}
	b := make([]byte, 0, len(list)*x.width)
	for _, e := range list {
		b = x.encode(b, e)
	}
	f, err := x.file.acquire()
	if err != nil {
		return err
	}
	defer x.file.release()
	if _, err := f.WriteAt(b, int64(n*x.width)); err != nil {
		return fmt.Errorf("write %s: %w", x.file.path(), err)
	}
	return nil
}

// truncateFile cuts the file after n entries.
func (x *index) truncateFile(n int) error {
	if n == 0 && x.file.isUnborn() {
		return nil
	}
	f, err := x.file.acquireNew()
	if err != nil {
		return err
	}
	defer x.file.release()
	return f.Truncate(int64(n * x.width))
}

// pageSize is how much of an index one read takes.
const pageSize = 4096

var pages = sync.Pool{New: func() any { return new([pageSize]byte) }}

// find gives the last entry for which before holds, given that it holds for a
// first part of the entries. ok is false when it holds for none.
func (v view) find(before func(entry) bool) (found entry, ok bool, err error) {
	if i := sort.Search(len(v.pending), func(i int) bool { return !before(v.pending[i]) }); i > 0 {
		return v.pending[i-1], true, nil
	}
	if v.n == 0 {
		return entry{}, false, nil
	}
	f, err := v.file.acquire()
	if err != nil {
		return entry{}, false, err
	}
	defer v.file.release()
	page := pages.Get().(*[pageSize]byte)
	defer pages.Put(page)

	perPage := pageSize / v.width
	lo, hi := 0, v.n // the answer's successor lies in [lo, hi]
	for hi-lo > perPage {
		mid := (lo + hi) / 2
		if err := v.read(f, mid, page[:v.width]); err != nil {
			return entry{}, false, err
		}
		if before(v.decode(page[:])) {
			lo = mid
		} else {
			hi = mid
		}
	}
	if err := v.read(f, lo, page[:(hi-lo)*v.width]); err != nil {
		return entry{}, false, err
	}
	i := sort.Search(hi-lo, func(i int) bool { return !before(v.decode(page[i*v.width:])) })
	if i == 0 {
		return entry{}, false, nil
	}
	return v.decode(page[(i-1)*v.width:]), true, nil
}

func (v view) read(f io.ReaderAt, i int, b []byte) error {
	if _, err := f.ReadAt(b, int64(i*v.width)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read %s: %w", v.file.path(), err)
	}
	return nil
}

// at reads entry i of the file.
func (v view) at(i int) (entry, error) {
	f, err := v.file.acquire()
	if err != nil {
		return entry{}, err
	}
	defer v.file.release()
	var b [timeEntrySize]byte
	if err := v.read(f, i, b[:v.width]); err != nil {
		return entry{}, err
	}
	return v.decode(b[:]), nil
}

// floorOffset is the last entry at or below an offset.
func (v view) floorOffset(o kafka.Offset) (entry, bool, error) {
	return v.find(func(e entry) bool { return e.offset <= o })
}

// belowTime is the last entry of a time index with an earlier timestamp: the
// first record with ts or later comes after its offset.
func (v view) belowTime(ts int64) (entry, bool, error) {
	return v.find(func(e entry) bool { return e.time < ts })
}
