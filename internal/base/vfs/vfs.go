// Package vfs is the seam to disk. Everything that stores goes through it, so
// that the same code runs on the operating system's files, on a memory disk
// that can be cut off at any step and reopened with only what was synced, and
// behind a wrapper that injects faults.
package vfs

import (
	"io"
	"io/fs"
	"os"
)

// FS is a file system. Names are paths as given to the operating system.
type FS interface {
	// OpenFile takes the flags of package os.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Mkdir makes a folder in one that exists; fs.ErrExist if there is something
	// of that name.
	Mkdir(name string, perm fs.FileMode) error
	MkdirAll(name string, perm fs.FileMode) error
	Remove(name string) error
	RemoveAll(name string) error
	Rename(from, to string) error
	// Link gives a file a second name; fs.ErrExist if there is something of that
	// name. Not every disk can: the error is then of its own kind, and nothing was
	// done.
	Link(from, to string) error
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// SyncDir makes the entries of a folder durable: creations, renames and
	// removals since the last call.
	SyncDir(name string) error
	// Lock takes the exclusive lock file of a folder; it fails at once when
	// another process holds it. Closing gives it up.
	Lock(name string) (io.Closer, error)
	// Space tells the size and the usable space of the disk below name, bytes.
	Space(name string) (total, usable int64, err error)
	// BootID changes whenever bytes in a folder that were written but not synced
	// may have been lost: at a start of the machine, when its file system is
	// mounted anew, or at a simulated crash.
	BootID(name string) string
}

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Closer
	Name() string
	Size() (int64, error)
	Truncate(size int64) error
	// Sync makes the file's bytes durable. After a failure the state of every
	// unsynced byte is unknown for good.
	Sync() error
	// OS is the operating system's file for sendfile, or nil where there is none.
	OS() *os.File
}
