package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
)

// AbortedTxn is a transaction that was aborted. A consumer that reads committed
// records skips the producer's data batches in [First, Last].
type AbortedTxn struct {
	Producer kafka.ProducerID
	First    kafka.Offset // of its first record
	Last     kafka.Offset // of its marker
	Stable   kafka.Offset // last stable offset when the marker was written
}

func (a AbortedTxn) record() metarec.AbortedTxn {
	return metarec.AbortedTxn{
		ProducerId: int64(a.Producer), FirstOffset: int64(a.First),
		LastOffset: int64(a.Last), LastStableOffset: int64(a.Stable),
	}
}

// txnIndexLimit bounds what is read of one transaction index.
const txnIndexLimit = 64 << 20

// appendAborted adds entries to a transaction index, which it makes if needed.
func appendAborted(f *file, known int, list ...AbortedTxn) error {
	var b []byte
	for _, a := range list {
		b = metarec.AppendAbortedTxn(b, a.record())
	}
	opened, err := f.acquireNew()
	if err != nil {
		return err
	}
	defer f.release()
	if _, err := opened.WriteAt(b, int64(known*metarec.AbortedTxnSize)); err != nil {
		return fmt.Errorf("write %s: %w", f.path(), err)
	}
	return nil
}

// readAborted reads a transaction index; it may be missing, and a torn entry at
// its end is passed over.
func readAborted(f *file) ([]AbortedTxn, error) {
	b, err := f.folder.read(FileName(f.base, f.suffix), txnIndexLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeAborted(b), nil
}

func decodeAborted(b []byte) []AbortedTxn {
	var list []AbortedTxn
	for ; len(b) >= metarec.AbortedTxnSize; b = b[metarec.AbortedTxnSize:] {
		a, err := metarec.ReadAbortedTxn(b[:metarec.AbortedTxnSize])
		if err != nil {
			break
		}
		list = append(list, AbortedTxn{
			kafka.ProducerID(a.ProducerId), kafka.Offset(a.FirstOffset),
			kafka.Offset(a.LastOffset), kafka.Offset(a.LastStableOffset),
		})
	}
	return list
}

// rewriteAborted makes a transaction index hold exactly a list. An empty one is
// removed, as Kafka has none either.
func rewriteAborted(f *file, list []AbortedTxn) error {
	if len(list) == 0 {
		err := f.folder.fs.Remove(f.path())
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return err
	}
	opened, err := f.acquireNew()
	if err != nil {
		return err
	}
	defer f.release()
	if err := opened.Truncate(0); err != nil {
		return err
	}
	return appendAborted(f, 0, list...)
}

// aborted is the transaction index of a segment in memory: most have none, and
// those that have are read when they are first needed.
type aborted struct {
	file *file

	mu     sync.Mutex
	loaded bool
	list   []AbortedTxn // replaced, not changed: readers may hold it
	late   []AbortedTxn // not yet in the file, for want of open files
}

// all gives the entries in order of their markers.
func (a *aborted) all() ([]AbortedTxn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.settle()
	if a.loaded && vfs.TooManyFiles(err) {
		return append(slices.Clip(a.list), a.late...), nil
	}
	return a.list, err
}

func (a *aborted) load() error {
	if a.loaded {
		return nil
	}
	list, err := readAborted(a.file)
	if err != nil {
		return err
	}
	a.list, a.loaded = slices.Clip(list), true
	return nil
}

// add enters a transaction unless its marker is known: a replay comes by the
// same marker again. Its marker is in the log already, so for want of open files
// it waits in memory.
func (a *aborted) add(t AbortedTxn) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.late = append(a.late, t)
	if err := a.settle(); err != nil && !vfs.TooManyFiles(err) {
		return err
	}
	return nil
}

// settle writes what is late.
func (a *aborted) settle() error {
	if err := a.load(); err != nil {
		return err
	}
	for len(a.late) > 0 {
		t := a.late[0]
		if n := len(a.list); n == 0 || a.list[n-1].Last < t.Last {
			if err := appendAborted(a.file, n, t); err != nil {
				return err
			}
			a.list = append(slices.Clip(a.list), t)
		}
		a.late = a.late[1:]
	}
	return nil
}

// truncate drops transactions whose marker lies at end or later.
func (a *aborted) truncate(end kafka.Offset) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.settle(); err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(a.list), func(t AbortedTxn) bool { return t.Last >= end })
	if len(kept) == len(a.list) {
		return nil
	}
	if err := rewriteAborted(a.file, kept); err != nil {
		return err
	}
	a.list = kept
	return nil
}
