package raftnode

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ottla/ottla/internal/base/batch"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/core/raft"
)

// verifyBytes is how much of a snapshot is read at a time.
const verifyBytes = 256 << 10

// verifySnapshot reads a snapshot to its end: each batch with its checksum, the
// offsets, which run on from 0, the epoch of its name in all of them, the header
// first and the footer last. What is wrong with it is the damage; err is a disk
// that cannot be read, which says nothing of what it holds.
func verifySnapshot(fsys vfs.FS, name string, id raft.SnapshotID) (r *SnapshotReader, damage, err error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening snapshot: %w", err)
	}
	defer f.Close()
	in := &watchedReader{r: f}
	v := verifier{head: &snapshotHead{}, epoch: id.Epoch}
	damage = v.all(bufio.NewReaderSize(in, verifyBytes))
	if in.failed != nil {
		return nil, nil, fmt.Errorf("reading snapshot %s: %w", name, in.failed)
	}
	if damage != nil {
		return nil, damage, nil
	}
	return &SnapshotReader{fs: fsys, name: name, id: id, head: *v.head}, nil, nil
}

// watchedReader remembers why reading failed, other than at the end.
type watchedReader struct {
	r      io.Reader
	failed error
}

func (w *watchedReader) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		w.failed = err
	}
	return n, err
}

// verifier walks the batches of a snapshot.
type verifier struct {
	head          *snapshotHead
	epoch         kafka.Epoch
	next          kafka.Offset
	headed, ended bool
}

func (v *verifier) all(f io.Reader) error {
	var in batchFile
	for {
		h, b, err := in.next(f)
		switch {
		case err == io.EOF && v.next == 0:
			return errEmptySnapshot
		case err == io.EOF && !v.ended:
			return errors.New("it has no footer")
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := v.batch(h, b); err != nil {
			return err
		}
	}
}

func (v *verifier) batch(h batch.Header, b []byte) error {
	switch {
	case v.ended:
		return errors.New("records follow the footer")
	case h.BaseOffset != v.next:
		return fmt.Errorf("%w, but the batch says offset %d and %d belongs there", errContradicts, h.BaseOffset, v.next)
	case h.LeaderEpoch != v.epoch:
		return fmt.Errorf("%w, but the batch at offset %d is of epoch %d", errContradicts, h.BaseOffset, h.LeaderEpoch)
	case !h.Control() && !v.headed:
		return errNoHeader
	}
	v.next = h.End()
	if !h.Control() {
		return nil
	}
	if err := readControl(b, v.control); err != nil {
		return err
	}
	if !v.headed {
		return errNoHeader
	}
	return nil
}

// control takes what the first batch says of the quorum, and the footer.
func (v *verifier) control(_ kafka.Offset, m metarec.Message) {
	if _, footer := m.(*metarec.SnapshotFooterRecord); footer {
		v.ended = true
		return
	}
	v.headed = v.head.take(m) || v.headed
}

var (
	errEmptySnapshot = errors.New("it is empty")
	errNoHeader      = errors.New("it does not begin with a header")
)
