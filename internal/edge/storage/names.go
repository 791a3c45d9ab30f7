package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Endings of file names.
const (
	logSuffix       = ".log"
	indexSuffix     = ".index"
	timeIndexSuffix = ".timeindex"
	txnIndexSuffix  = ".txnindex"
	snapshotSuffix  = ".snapshot"

	deletedSuffix = ".deleted"
	cleanedSuffix = ".cleaned"
	swapSuffix    = ".swap"
	tmpSuffix     = ".tmp"
)

// segmentSuffixes are the files of one segment. The log comes last, so that a
// rename in this order ends with the file that makes the segment exist.
var segmentSuffixes = [...]string{indexSuffix, timeIndexSuffix, txnIndexSuffix, logSuffix}

// baseDigits is the width of the offset in a file name.
const baseDigits = 20

// FileName is the name of a segment's file: its first offset in 20 digits and
// an ending such as ".log".
func FileName(base kafka.Offset, suffix string) string {
	return fmt.Sprintf("%0*d%s", baseDigits, int64(base), suffix)
}

// parseFileName splits a name like 00000000000000000016.log.
func parseFileName(name string) (base kafka.Offset, suffix string, ok bool) {
	digits, rest, found := strings.Cut(name, ".")
	if !found || len(digits) != baseDigits {
		return 0, "", false
	}
	n, err := strconv.ParseUint(digits, 10, 63) // takes no sign
	if err != nil {
		return 0, "", false
	}
	return kafka.Offset(n), "." + rest, true
}

// folder is where a log lives. The name changes when the partition is deleted
// or moved, while readers go on.
type folder struct {
	fs    vfs.FS
	birth atomic.Pointer[birth] // until it is there; changed under mu

	mu   sync.RWMutex
	name string
}

func (f *folder) path() string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.name
}

func (f *folder) join(name string) string { return filepath.Join(f.path(), name) }

// make makes the folder, with its parents, and tells whether it was not there.
func (f *folder) make() (fresh bool, err error) {
	name := f.path()
	err = f.fs.Mkdir(name, 0o755)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case isMissing(err):
		return true, f.fs.MkdirAll(name, 0o755)
	}
	return false, err
}

// open opens a file of the folder, which is not renamed meanwhile. A file to be
// made finds a folder.
func (f *folder) open(name string, flag int) (vfs.File, error) {
	if flag&os.O_CREATE != 0 {
		if err := f.bear(); err != nil {
			return nil, err
		}
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.fs.OpenFile(filepath.Join(f.name, name), flag, 0o644)
}

// read reads a file of the folder, which is not renamed meanwhile.
func (f *folder) read(name string, limit int64) ([]byte, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return vfs.ReadFile(f.fs, filepath.Join(f.name, name), limit)
}

// rename moves the folder and makes that durable.
func (f *folder) rename(to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.birth.Load(); b != nil && !b.made {
		f.name = to
		return nil
	}
	if err := f.fs.Rename(f.name, to); err != nil {
		return err
	}
	from := f.name
	f.name = to
	if err := f.fs.SyncDir(filepath.Dir(to)); err != nil || filepath.Dir(from) == filepath.Dir(to) {
		return err
	}
	return f.fs.SyncDir(filepath.Dir(from))
}
