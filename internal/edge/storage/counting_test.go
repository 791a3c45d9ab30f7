package storage

import (
	"io/fs"

	"github.com/ottla/ottla/internal/base/vfs"
)

// countingFS counts the bytes that are read.
type countingFS struct {
	vfs.FS
	read int64
}

func (c *countingFS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &countingFile{f, c}, nil
}

type countingFile struct {
	vfs.File
	fs *countingFS
}

func (f *countingFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	f.fs.read += int64(n)
	return n, err
}
