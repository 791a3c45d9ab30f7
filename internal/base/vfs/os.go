package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// OS is the operating system's file system.
type OS struct{}

// OpenFile opens a real file.
func (OS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Mkdir makes a folder.
func (OS) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }

// MkdirAll makes a folder and its parents.
func (OS) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }

// Remove removes a file or an empty folder.
func (OS) Remove(name string) error { return os.Remove(name) }

// RemoveAll removes a folder with its contents; a missing one is no error.
func (OS) RemoveAll(name string) error { return os.RemoveAll(name) }

// Rename replaces the target atomically.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Link makes a hard link.
func (OS) Link(from, to string) error { return os.Link(from, to) }

// ReadDir lists a folder in order of names.
func (OS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Stat follows links.
func (OS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// SyncDir syncs a folder's entries.
func (OS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = syncFailed(d.Sync())
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}

// BootID is the kernel's id of this start of the machine with the identity of the
// mount that a folder lies on. Where it cannot be told it differs at each call.
func (OS) BootID(name string) string {
	mount, err := mountID(name)
	if err != nil {
		return processBootID()
	}
	return bootID() + " " + mount
}

// Space tells the size and the usable bytes of the volume below name.
func (OS) Space(name string) (total, usable int64, err error) { return space(name) }

// locked holds the lock files of this process. A POSIX record lock excludes
// other processes only, so a second one from here is refused by this map.
var locked struct {
	sync.Mutex
	names map[string]bool
}

// Lock takes a POSIX record lock over the whole file name, which it creates.
// Java's file locks are record locks too, so an Apache Kafka on the same
// folder is excluded; flock would not do that.
func (OS) Lock(name string) (io.Closer, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(real, filepath.Base(abs))
	}
	locked.Lock()
	defer locked.Unlock()
	if locked.names[abs] {
		return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
	}
	f, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if locked.names == nil {
		locked.names = map[string]bool{}
	}
	locked.names[abs] = true
	return &osLock{name: abs, file: f}, nil
}

type osLock struct {
	name string
	file *os.File
	once sync.Once
	err  error
}

// Close gives the lock up; the file stays, as Kafka's does.
func (l *osLock) Close() error {
	l.once.Do(func() {
		locked.Lock()
		defer locked.Unlock()
		delete(locked.names, l.name)
		l.err = l.file.Close()
	})
	return l.err
}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Sync() error { return syncFailed(f.File.Sync()) }

func (f osFile) OS() *os.File { return f.File }
