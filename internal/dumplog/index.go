package dumplog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Sizes of index entries in bytes.
const (
	offsetEntrySize = 8
	timeEntrySize   = 12
)

// offsetEntry is one entry of an offset index: where the batch begins whose
// last offset is Offset.
type offsetEntry struct {
	Offset   kafka.Offset `json:"offset"`
	Position int64        `json:"position"` // in the segment, bytes
}

func (offsetEntry) kind() string { return "offsetIndexEntry" }

func (e offsetEntry) text(dst []byte) []byte {
	return appendPair(appendPair(dst, "offset", int64(e.Offset)), "position", e.Position)
}

// timeEntry is one entry of a time index: records behind Offset may be younger
// than Timestamp, those before it are not.
type timeEntry struct {
	Timestamp int64        `json:"timestamp"` // milliseconds
	Offset    kafka.Offset `json:"offset"`
}

func (timeEntry) kind() string { return "timeIndexEntry" }

func (e timeEntry) text(dst []byte) []byte {
	return appendPair(appendPair(dst, "timestamp", e.Timestamp), "offset", int64(e.Offset))
}

// sanityItem tells that an index passed the check that was asked for.
type sanityItem struct {
	path   string
	Passed bool `json:"passed"`
}

func (sanityItem) kind() string { return "sanityCheck" }

func (s sanityItem) text(dst []byte) []byte {
	return append(append(dst, s.path...), " passed sanity check."...)
}

// entries walks the entries of an index up to the end or to the zeros that
// follow the last one in a file that was allocated in advance. use tells
// whether to go on.
func (d *dumper) entries(size int64, use func(position int64, entry []byte) bool) error {
	r := bufio.NewReaderSize(io.NewSectionReader(d.file, 0, d.size), 32<<10)
	entry := make([]byte, size)
	for position := int64(0); position+size <= d.size; position += size {
		if _, err := io.ReadFull(r, entry); err != nil {
			return err
		}
		if isZero(entry) {
			return d.zeros(position)
		}
		if !use(position, entry) {
			return nil
		}
	}
	if rest := d.size % size; rest != 0 {
		d.problem(d.size-rest, "%d bytes at the end are no entry of %d bytes", rest, size)
	}
	return nil
}

// quiet tells whether entries are checked but not printed.
func (d *dumper) quiet() bool { return d.opt.SanityCheck || d.opt.VerifyOnly }

func (d *dumper) offsetIndex() error {
	if d.size == 0 {
		d.out.heading(d.path + " is empty.")
	}
	log, err := d.segmentBeside()
	if err != nil {
		return err
	}
	if log != nil {
		defer log.Close()
	}
	base, last := d.base(), offsetEntry{Offset: -1, Position: -1}
	err = d.entries(offsetEntrySize, func(position int64, b []byte) bool {
		e := offsetEntry{base + kafka.Offset(be32(b)), int64(be32(b[4:]))}
		goOn := true
		if e.Offset < base || e.Offset <= last.Offset || e.Position < 0 || e.Position <= last.Position {
			goOn = d.problem(position, "entry (offset %d, position %d) does not rise from (%d, %d)", e.Offset, e.Position, last.Offset, last.Position)
		} else if log != nil {
			goOn = d.checkOffsetEntry(log, position, e)
		}
		last = e
		return goOn && (d.quiet() || d.put(e))
	})
	d.sane(err)
	return err
}

func be32(b []byte) int32 { return int32(binary.BigEndian.Uint32(b)) }

// sane prints that an index passed the sanity check if it was asked for.
func (d *dumper) sane(err error) {
	if d.opt.SanityCheck && err == nil && len(d.problems) == 0 {
		d.put(sanityItem{d.path, true})
	}
}

// segmentBeside opens the segment of an index, to compare them. Without one,
// or if only the index itself is to be checked, it is nil.
func (d *dumper) segmentBeside() (vfs.File, error) {
	if d.opt.SanityCheck {
		return nil, nil
	}
	_, ext := plainName(d.path)
	cut := strings.LastIndex(d.path, ext)
	path := d.path[:cut] + ".log" + d.path[cut+len(ext):]
	f, err := d.disk.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if d.opt.VerifyOnly {
			return nil, fmt.Errorf("no segment to compare with: %w", err)
		}
		return nil, nil
	}
	return f, err
}

// checkOffsetEntry compares an entry with the batch that it points at.
func (d *dumper) checkOffsetEntry(log vfs.File, position int64, e offsetEntry) bool {
	head := make([]byte, batch.HeaderSize)
	n, err := log.ReadAt(head, e.Position)
	if err != nil && err != io.EOF {
		return d.problem(position, "segment at %d: %w", e.Position, err)
	}
	h, err := batch.ParseHeader(head[:n])
	if err != nil {
		return d.problem(position, "entry (offset %d, position %d): no batch is there in the segment: %w", e.Offset, e.Position, err)
	}
	if h.Last() != e.Offset {
		return d.problem(position, "entry (offset %d, position %d): the batch there ends with offset %d", e.Offset, e.Position, h.Last())
	}
	return true
}

func (d *dumper) timeIndex() error {
	log, err := d.segmentBeside()
	if err != nil {
		return err
	}
	var check timeCheck
	if log != nil {
		defer log.Close()
		if check, err = newTimeCheck(log); err != nil {
			return err
		}
	}
	base, last := d.base(), timeEntry{Timestamp: -1, Offset: -1}
	err = d.entries(timeEntrySize, func(position int64, b []byte) bool {
		e := timeEntry{int64(binary.BigEndian.Uint64(b)), base + kafka.Offset(be32(b[8:]))}
		goOn := true
		if e.Offset < base || e.Offset < last.Offset || e.Timestamp <= last.Timestamp {
			goOn = d.problem(position, "entry (timestamp %d, offset %d) does not rise from (%d, %d)", e.Timestamp, e.Offset, last.Timestamp, last.Offset)
		} else if why := check.entry(e); why != "" {
			goOn = d.problem(position, "entry (timestamp %d, offset %d): %s", e.Timestamp, e.Offset, why)
		}
		last = e
		return goOn && (d.quiet() || d.put(e))
	})
	d.sane(err)
	return err
}

// timeCheck walks a segment beside its time index.
type timeCheck struct {
	scan *scanner // nil: nothing to compare with
	at   batch.Header
	// before is true until the first batch was read.
	before bool
}

func newTimeCheck(log vfs.File) (timeCheck, error) {
	size, err := log.Size()
	if err != nil {
		return timeCheck{}, err
	}
	return timeCheck{scan: newScanner(log, size), before: true}, nil
}

// entry compares an entry with the batch that holds its offset and tells what
// is wrong. What is wrong with the segment itself is left to its own dump.
func (c *timeCheck) entry(e timeEntry) string {
	for c.scan != nil && (c.before || c.at.Last() < e.Offset) {
		b, err := c.scan.next(false)
		if err != nil {
			c.scan = nil
			return "the segment has no such offset"
		}
		c.at, c.before = b.Header, false
	}
	// A batch that compaction removed leaves no trace to compare with.
	if c.scan != nil && c.at.BaseOffset <= e.Offset && c.at.MaxTimestamp != e.Timestamp {
		return fmt.Sprintf("the batch of that offset has the timestamp %d", c.at.MaxTimestamp)
	}
	return ""
}

// abortedTxn is one entry of an index of aborted transactions.
type abortedTxn struct {
	Version          int16            `json:"version"`
	ProducerID       kafka.ProducerID `json:"producerId"`
	FirstOffset      kafka.Offset     `json:"firstOffset"`
	LastOffset       kafka.Offset     `json:"lastOffset"`
	LastStableOffset kafka.Offset     `json:"lastStableOffset"`
}

func (abortedTxn) kind() string { return "abortedTransaction" }

func (a abortedTxn) text(dst []byte) []byte {
	dst = appendPair(dst, "version", int64(a.Version))
	dst = appendPair(dst, "producerId", int64(a.ProducerID))
	dst = appendPair(dst, "firstOffset", int64(a.FirstOffset))
	dst = appendPair(dst, "lastOffset", int64(a.LastOffset))
	return appendPair(dst, "lastStableOffset", int64(a.LastStableOffset))
}

func (d *dumper) txnIndex() error {
	last := kafka.NoOffset
	err := d.entries(metarec.AbortedTxnSize, func(position int64, b []byte) bool {
		a, err := metarec.ReadAbortedTxn(b)
		if err != nil {
			return d.problem(position, "%w", err)
		}
		goOn := true
		if a.FirstOffset < 0 || a.LastOffset < a.FirstOffset || kafka.Offset(a.LastOffset) <= last {
			goOn = d.problem(position, "offsets %d to %d do not rise from %d", a.FirstOffset, a.LastOffset, last)
		}
		last = kafka.Offset(a.LastOffset)
		it := abortedTxn{0, kafka.ProducerID(a.ProducerId), kafka.Offset(a.FirstOffset), last, kafka.Offset(a.LastStableOffset)}
		return goOn && (d.quiet() || d.put(it))
	})
	d.sane(err)
	return err
}
