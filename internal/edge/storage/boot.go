package storage

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/vfs"
)

// BootFile, in the root of a log directory, holds the BootID under which all its
// logs were last found whole.
const BootFile = ".ottla-boot"

const bootLimit = 1 << 10

// SameBoot tells whether the machine has kept running since RecordBoot was
// called for a log directory: then everything that was written to it is there,
// synced or not, and only what a killed process was writing can be torn.
func SameBoot(f vfs.FS, root string) (bool, error) {
	b, err := vfs.ReadFile(f, filepath.Join(root, BootFile), bootLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && len(b) > 0 && string(b) == f.BootID(), err
}

// RecordBoot notes that all logs of a directory are open and validated. It must
// not be called earlier: a process killed during recovery would leave a note
// that hides what was not validated yet.
func RecordBoot(f vfs.FS, root string) error {
	return vfs.WriteFileAtomic(f, filepath.Join(root, BootFile), []byte(f.BootID()))
}

// ForgetBoot takes the note back, after a failure that leaves unsynced bytes
// unknown.
func ForgetBoot(f vfs.FS, root string) error {
	err := f.Remove(filepath.Join(root, BootFile))
	if err == nil {
		err = f.SyncDir(root)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
