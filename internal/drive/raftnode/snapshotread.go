package raftnode

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// maxSnapshotBatch bounds a batch of a snapshot: its header and Kafka's limit,
// with room for one record more.
const maxSnapshotBatch = 2 * maxBatch

// SnapshotReader reads a snapshot from the disk.
type SnapshotReader struct {
	fs   vfs.FS
	name string
	id   raft.SnapshotID
	head snapshotHead
}

// snapshotHead is what the first batch of a snapshot says.
type snapshotHead struct {
	lastContained int64
	level         int16
	voters        raft.Voters // nil when there are none
}

// openSnapshot reads the head of a snapshot; the file is read again for the
// records.
func openSnapshot(fsys vfs.FS, name string, id raft.SnapshotID) (*SnapshotReader, error) {
	r := &SnapshotReader{fs: fsys, name: name, id: id}
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("opening snapshot: %w", err)
	}
	defer f.Close()
	var in batchFile
	h, b, err := in.next(f)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", name, err)
	}
	headed := false
	if h.Control() {
		err = readControl(b, func(offset kafka.Offset, m metarec.Message) {
			headed = r.head.take(m) || headed
		})
	}
	if err == nil && !headed {
		err = errNoHeader
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", name, err)
	}
	return r, nil
}

// take notes a control record and tells whether it is the header.
func (h *snapshotHead) take(m metarec.Message) bool {
	switch m := m.(type) {
	case *metarec.SnapshotHeaderRecord:
		h.lastContained = m.LastContainedLogTimestamp
		return true
	case *metarec.KRaftVersionRecord:
		h.level = m.KRaftVersion
	case *metarec.VotersRecord:
		h.voters = votersOf(m)
	}
	return false
}

// ID is the end offset and epoch the snapshot stands for.
func (r *SnapshotReader) ID() SnapshotID { return r.id }

// LastContainedTimestamp is when the last record the snapshot stands for was
// appended, ms since 1970.
func (r *SnapshotReader) LastContainedTimestamp() int64 { return r.head.lastContained }

// histories gives what the snapshot says of the quorum, dated with the last
// record it stands for.
func (r *SnapshotReader) histories() (voters []raft.At[raft.Voters], levels []raft.At[int16]) {
	at := r.id.EndOffset - 1
	if r.head.voters != nil {
		voters = append(voters, raft.At[raft.Voters]{Offset: at, Value: r.head.voters})
	}
	if r.head.level > 0 {
		levels = append(levels, raft.At[int16]{Offset: at, Value: r.head.level})
	}
	return voters, levels
}

// Batches walks the framed metadata records, a batch at a time. The bytes live
// until the next step. An error is the last thing yielded; a snapshot that
// does not end with its footer is one.
func (r *SnapshotReader) Batches() iter.Seq2[[][]byte, error] {
	return func(yield func([][]byte, error) bool) {
		f, err := r.fs.OpenFile(r.name, os.O_RDONLY, 0)
		if err != nil {
			yield(nil, fmt.Errorf("opening snapshot: %w", err))
			return
		}
		defer f.Close()
		if err := r.walk(f, yield); err != nil {
			yield(nil, fmt.Errorf("snapshot %s: %w", r.name, err))
		}
	}
}

func (r *SnapshotReader) walk(f io.Reader, yield func([][]byte, error) bool) error {
	var in batchFile
	var records [][]byte
	ended := false
	for {
		h, b, err := in.next(f)
		switch {
		case err == io.EOF && ended:
			return nil
		case err == io.EOF:
			return errors.New("it has no footer")
		case err != nil:
			return err
		case ended:
			return errors.New("records follow the footer")
		case h.Control():
			err = readControl(b, func(_ kafka.Offset, m metarec.Message) {
				if _, footer := m.(*metarec.SnapshotFooterRecord); footer {
					ended = true
				}
			})
			if err != nil {
				return err
			}
			continue
		}
		if records, err = values(records[:0], b); err != nil {
			return err
		}
		if !yield(records, nil) {
			return nil
		}
	}
}

// values appends the values of the records of one data batch to dst: framed
// metadata records, which lie in b.
func values(dst [][]byte, b []byte) ([][]byte, error) {
	var d batch.Decoder
	for r, err := range d.Records(b) {
		switch {
		case err != nil:
			return dst, err
		case r.Key != nil || len(r.Value) == 0:
			return dst, fmt.Errorf("record at offset %d: %w: it has a key, or no value", r.Offset, batch.ErrCorrupt)
		}
		dst = append(dst, r.Value)
	}
	return dst, nil
}

// batchFile reads batches from a file, one at a time, into its own buffer.
type batchFile struct{ buf []byte }

// next reads one batch and checks it; io.EOF is the end between two batches.
func (in *batchFile) next(f io.Reader) (batch.Header, []byte, error) {
	if cap(in.buf) < batch.HeaderSize {
		in.buf = make([]byte, batch.HeaderSize, 4096)
	}
	in.buf = in.buf[:batch.HeaderSize]
	if _, err := io.ReadFull(f, in.buf); err != nil {
		return batch.Header{}, nil, err
	}
	h, err := batch.ParseHeader(in.buf)
	if err != nil {
		return h, nil, err
	}
	if h.Size() > maxSnapshotBatch {
		return h, nil, fmt.Errorf("%w: batch of %d bytes", batch.ErrTooLarge, h.Size())
	}
	if cap(in.buf) < h.Size() {
		grown := make([]byte, h.Size())
		copy(grown, in.buf)
		in.buf = grown
	}
	in.buf = in.buf[:h.Size()]
	if _, err := io.ReadFull(f, in.buf[batch.HeaderSize:]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // the file ends behind the header
		}
		return h, nil, fmt.Errorf("batch at offset %d: %w", h.BaseOffset, err)
	}
	if !batch.CheckCRC(in.buf) {
		return h, nil, fmt.Errorf("batch at offset %d: %w: checksum", h.BaseOffset, batch.ErrCorrupt)
	}
	return h, in.buf, nil
}
