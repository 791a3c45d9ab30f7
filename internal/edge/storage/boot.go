package storage

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/ottla/ottla/internal/base/vfs"
)

// BootFile, in the root of a log directory, holds the BootID under which all its
// logs were last found whole. It is there only between RecordBoot and a stop in
// order or a failure.
const BootFile = ".ottla-boot"

const bootLimit = 1 << 10

// BootNote is what BootFile says at a start.
type BootNote struct {
	// There tells that the last process that used the directory was of our kind
	// and was ended without a stop in order.
	There bool
	// Same tells besides that neither the machine nor the mount has changed since:
	// everything that was written is there, synced or not, and only what a killed
	// process was writing can be torn.
	Same bool
}

// ReadBoot reads the note of a log directory.
func ReadBoot(f vfs.FS, root string) (BootNote, error) {
	b, err := vfs.ReadFile(f, filepath.Join(root, BootFile), bootLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return BootNote{}, nil
	}
	return BootNote{There: err == nil, Same: err == nil && len(b) > 0 && string(b) == f.BootID(root)}, err
}

// RecordBoot notes that all logs of a directory are whole: they were validated,
// or stopped in order. It must not be called earlier: a process killed during
// recovery would leave a note that hides what was not validated yet.
func RecordBoot(f vfs.FS, root string) error {
	return vfs.WriteFileAtomic(f, filepath.Join(root, BootFile), []byte(f.BootID(root)))
}

// ForgetBoot takes the note back: after a stop in order, and before anybody hears
// of a failure, which leaves unsynced bytes unknown. It is not synced, as a loss
// of power makes the note void too.
func ForgetBoot(f vfs.FS, root string) error {
	err := f.Remove(filepath.Join(root, BootFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
