package raftnode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
)

// durableMarkLimit is how large a file is read to find that it is no mark, bytes.
const durableMarkLimit = 4 << 10

// durableMark writes metarec.DurableMarkFile. It costs no sync, so it can follow each
// sync of the log, and what it says is exact when a process is killed; a loss of
// power may leave an older one, or one that is torn and says nothing.
type durableMark struct {
	fs   vfs.FS
	name string
	file vfs.File // nil until something is written
	buf  [metarec.DurableMarkSize]byte
}

// mark is what a metarec.DurableMark says, in our types.
type mark struct {
	below kafka.Offset
	// epoch is the highest one of a record below; negative when it is not known.
	epoch kafka.Epoch
}

// noMark says nothing.
var noMark = mark{epoch: kafka.NoEpoch}

// read gives what the file says. A file that is missing says nothing; for one that
// cannot be read as a mark, as when it is torn, unread is why.
func (m *durableMark) read() (said mark, unread, err error) {
	b, err := vfs.ReadFile(m.fs, m.name, durableMarkLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return noMark, nil, nil
	}
	if err != nil {
		return noMark, nil, fmt.Errorf("reading the mark of how far the metadata log is durable: %w", err)
	}
	got, unread := metarec.ReadDurableMark(b)
	return mark{kafka.Offset(got.Below), kafka.Epoch(got.Epoch)}, unread, nil
}

// set writes the mark, and syncs it when it must not come back as it was.
func (m *durableMark) set(to mark, sync bool) error {
	err := m.open()
	if err == nil {
		metarec.PutDurableMark(&m.buf, metarec.DurableMark{Below: int64(to.below), Epoch: int32(to.epoch)})
		_, err = m.file.WriteAt(m.buf[:], 0)
	}
	if err == nil && sync {
		err = m.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("marking how far the metadata log is durable: %w", err)
	}
	return nil
}

// fit takes off what makes the file longer than a mark. It comes after the mark is
// written: cut short, the file might say what it once said.
func (m *durableMark) fit() error {
	size, err := m.file.Size()
	if err == nil && size > int64(len(m.buf)) {
		err = m.file.Truncate(int64(len(m.buf)))
	}
	if err != nil {
		return fmt.Errorf("cutting %s to the length of a mark: %w", m.name, err)
	}
	return nil
}

func (m *durableMark) open() error {
	if m.file != nil {
		return nil
	}
	file, err := m.fs.OpenFile(m.name, os.O_CREATE|os.O_RDWR, 0o644)
	if err == nil {
		m.file = file
	}
	return err
}

// close leaves the mark durable: after a stop in good order a loss of power does not
// take the epoch away.
func (m *durableMark) close() error {
	if m.file == nil {
		return nil
	}
	err := errors.Join(m.file.Sync(), m.file.Close())
	m.file = nil
	return err
}

func markOf(fsys vfs.FS, dir string) durableMark {
	return durableMark{fs: fsys, name: filepath.Join(dir, metarec.DurableMarkFile)}
}
