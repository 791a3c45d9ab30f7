package vfs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLocked is the cause when another process, or another part of this one,
// holds a lock file.
var ErrLocked = errors.New("held by another process")

// tmpSuffix marks a file that is still being written.
const tmpSuffix = ".tmp"

// WriteFileAtomic replaces a file so that after a crash at any step it holds
// either all of the old or all of the new bytes: it writes name.tmp, syncs it,
// renames it over name and syncs the folder.
func WriteFileAtomic(f FS, name string, data []byte) error {
	if err := writeAside(f, name, data, true); err != nil {
		return err
	}
	if err := f.SyncDir(filepath.Dir(name)); err != nil {
		return fmt.Errorf("replace %s: sync folder: %w", name, err)
	}
	return nil
}

// ReplaceFile replaces a file at once for all who open it, but without a sync:
// after a loss of power it may be old, new, empty or torn. It is for files that
// carry their own check and can be made again.
func ReplaceFile(f FS, name string, data []byte) error { return writeAside(f, name, data, false) }

func writeAside(f FS, name string, data []byte, sync bool) error {
	tmp := name + tmpSuffix
	file, err := f.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("replace %s: %w", name, err)
	}
	_, err = file.Write(data)
	if err == nil && sync {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = f.Rename(tmp, name)
	}
	if err != nil {
		return fmt.Errorf("replace %s: %w", name, err)
	}
	return nil
}

// ReadFile reads a whole file of at most limit bytes; a longer one is an error,
// so that a broken disk cannot ask for all memory.
func ReadFile(f FS, name string, limit int64) ([]byte, error) {
	file, err := f.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("read %s: %d bytes, more than %d", name, size, limit)
	}
	b := make([]byte, size)
	n, err := file.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}

// MkdirAllSync makes a folder and its missing parents and makes all their
// entries durable.
func MkdirAllSync(f FS, name string, perm fs.FileMode) error {
	if info, err := f.Stat(name); err == nil {
		if info.IsDir() {
			return nil
		}
		return &fs.PathError{Op: "mkdir", Path: name, Err: errors.New("is not a folder")}
	}
	parent := filepath.Dir(name)
	if parent != name {
		if err := MkdirAllSync(f, parent, perm); err != nil {
			return err
		}
	}
	if err := f.MkdirAll(name, perm); err != nil {
		return err
	}
	return f.SyncDir(parent)
}

// Exists tells whether a file or folder is there.
func Exists(f FS, name string) (bool, error) {
	_, err := f.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// processBootID is an id that no other process and no other disk shares.
func processBootID() string { return rand.Text() }
