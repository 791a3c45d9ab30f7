package vfs

import (
	"io"
	"io/fs"
	"os"
	"time"
)

// memFile is an open file of a Mem.
type memFile struct {
	disk               *Mem
	node               *node
	name               string
	pos                int64
	readable, writable bool
	closed             bool
}

func (f *memFile) Name() string { return f.name }
func (f *memFile) OS() *os.File { return nil }

func (f *memFile) check(allowed bool) error {
	switch {
	case f.closed:
		return fs.ErrClosed
	case !allowed:
		return fs.ErrPermission
	}
	return nil
}

func (f *memFile) Read(b []byte) (int, error) {
	n, err := f.ReadAt(b, f.pos)
	f.pos += int64(n)
	if n > 0 {
		return n, nil
	}
	return n, err
}

func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	f.disk.mu.RLock()
	defer f.disk.mu.RUnlock()
	if err := f.check(f.readable); err != nil {
		return 0, fail("read", f.name, err)
	}
	if off >= int64(len(f.node.data)) {
		if len(b) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(b, f.node.data[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) Write(b []byte) (int, error) {
	n, err := f.WriteAt(b, f.pos)
	f.pos += int64(n)
	return n, err
}

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.check(f.writable); err != nil {
		return 0, fail("write", f.name, err)
	}
	f.node.writeAt(b, int(off), f.disk.clock())
	return len(b), nil
}

func (f *memFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.check(f.writable); err != nil {
		return fail("truncate", f.name, err)
	}
	f.node.truncate(int(size), f.disk.clock())
	return nil
}

func (f *memFile) Size() (int64, error) {
	f.disk.mu.RLock()
	defer f.disk.mu.RUnlock()
	if err := f.check(true); err != nil {
		return 0, fail("stat", f.name, err)
	}
	return int64(len(f.node.data)), nil
}

func (f *memFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.check(true); err != nil {
		return fail("sync", f.name, err)
	}
	f.node.sync()
	return nil
}

func (f *memFile) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.closed {
		return fail("close", f.name, fs.ErrClosed)
	}
	f.closed = true
	return nil
}

func (n *node) writeAt(b []byte, off int, now time.Time) {
	end := off + len(b)
	n.dirty(min(off, len(n.data)), end)
	if end > len(n.data) {
		n.grow(end)
	}
	copy(n.data[off:], b)
	n.mod = now
}

// grow lengthens the file with zeros.
func (n *node) grow(size int) {
	old := len(n.data)
	if size > cap(n.data) {
		bigger := make([]byte, old, max(size, 2*cap(n.data)))
		copy(bigger, n.data)
		n.data = bigger
	}
	n.data = n.data[:size]
	clear(n.data[old:])
}

func (n *node) truncate(size int, now time.Time) {
	old := len(n.data)
	n.dirty(min(old, size), max(old, size))
	if size > old {
		n.grow(size)
	}
	n.data = n.data[:size]
	n.mod = now
}

// dirty notes that bytes of [lo, hi) may differ from the synced ones.
func (n *node) dirty(lo, hi int) {
	if n.dirtyLo == n.dirtyHi {
		n.dirtyLo, n.dirtyHi = lo, hi
		return
	}
	n.dirtyLo, n.dirtyHi = min(n.dirtyLo, lo), max(n.dirtyHi, hi)
}

// sync copies what may differ, so that many syncs of a growing file stay cheap.
func (n *node) sync() {
	lo, hi := min(n.dirtyLo, len(n.data), len(n.synced)), min(n.dirtyHi, len(n.data))
	if len(n.synced) > len(n.data) {
		n.synced = n.synced[:len(n.data)]
	}
	if lo < hi {
		n.synced = append(n.synced[:lo], n.data[lo:max(hi, len(n.synced))]...)
	}
	if len(n.synced) < len(n.data) {
		n.synced = append(n.synced, n.data[len(n.synced):]...)
	}
	n.dirtyLo, n.dirtyHi = 0, 0
}

func (n *node) info(name string) fs.FileInfo {
	return memInfo{name: name, size: int64(len(n.data)), dir: n.dir, mod: n.mod}
}

type memInfo struct {
	name string
	size int64
	dir  bool
	mod  time.Time
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) IsDir() bool        { return i.dir }
func (i memInfo) ModTime() time.Time { return i.mod }
func (i memInfo) Sys() any           { return nil }
func (i memInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
