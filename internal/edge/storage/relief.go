package storage

import (
	"io/fs"

	"github.com/ottla/ottla/internal/base/vfs"
)

// Relieve makes a disk that closes idle files of the pool and tries again when
// the process, or the system, has as many files open as it may.
func (p *Files) Relieve(disk vfs.FS) vfs.FS { return relieved{disk, p} }

type relieved struct {
	vfs.FS
	pool *Files
}

// leastFiles is what the pool keeps when it is asked to give files back again
// and again: with fewer every operation would open its files anew.
const leastFiles = 64

// relieve closes half of the files and lets the pool stay so small: more than
// were open were not to be had. It tells whether any file was closed.
func (p *Files) relieve() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.open
	p.limit = min(p.limit, max(before/2, leastFiles))
	p.shrink(before/2, nil)
	return p.open < before
}

// relieving does something again for as long as it fails for want of files and
// the pool has some to give.
func (d relieved) relieving(do func() error) error {
	err := do()
	for vfs.TooManyFiles(err) && d.pool.relieve() {
		err = do()
	}
	return err
}

func (d relieved) OpenFile(name string, flag int, perm fs.FileMode) (f vfs.File, err error) {
	err = d.relieving(func() error {
		f, err = d.FS.OpenFile(name, flag, perm)
		return err
	})
	return f, err
}

func (d relieved) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = d.relieving(func() error {
		list, err = d.FS.ReadDir(name)
		return err
	})
	return list, err
}

func (d relieved) SyncDir(name string) error {
	return d.relieving(func() error { return d.FS.SyncDir(name) })
}

func (d relieved) RemoveAll(name string) error {
	return d.relieving(func() error { return d.FS.RemoveAll(name) })
}
