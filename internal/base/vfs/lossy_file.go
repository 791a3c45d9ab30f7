package vfs

import (
	"io"
	"os"
)

// lossyFile is an open file of a Lossy disk.
type lossyFile struct {
	osFile
	disk *Lossy
	node *lossyNode
}

func (f *lossyFile) Write(b []byte) (int, error) {
	pos, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	n, err := f.osFile.Write(b)
	f.wrote(pos, int64(n))
	return n, err
}

func (f *lossyFile) WriteAt(b []byte, off int64) (int, error) {
	n, err := f.osFile.WriteAt(b, off)
	f.wrote(off, int64(n))
	return n, err
}

func (f *lossyFile) wrote(off, n int64) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.node.changed(min(off, f.node.size), off+n)
	f.node.size = max(f.node.size, off+n)
}

func (f *lossyFile) Truncate(size int64) error {
	err := f.osFile.Truncate(size)
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.node.truncated(size)
	return err
}

func (f *lossyFile) Sync() error {
	if err := f.osFile.Sync(); err != nil {
		return err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return f.disk.syncNode(f.node)
}

func (n *lossyNode) changed(lo, hi int64) {
	if n.lo == n.hi {
		n.lo, n.hi = lo, hi
		return
	}
	n.lo, n.hi = min(n.lo, lo), max(n.hi, hi)
}

func (n *lossyNode) truncated(size int64) {
	n.changed(min(size, n.size), max(size, n.size))
	n.size = size
}

// syncNode copies the changed range of a file to its inode. Of a removed file
// nothing can be seen after a crash, so nothing is copied.
func (l *Lossy) syncNode(n *lossyNode) error {
	if n.name == "" {
		return nil
	}
	src, err := os.Open(n.name)
	if err != nil {
		return err
	}
	defer src.Close()
	return l.copyRange(n, src)
}

func (l *Lossy) copyRange(n *lossyNode, src *os.File) error {
	inode, err := l.inode(n)
	if err != nil {
		return err
	}
	dst, err := os.OpenFile(inode, os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer dst.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if n.lo < n.hi {
		from := io.NewSectionReader(src, n.lo, min(n.hi, info.Size())-n.lo)
		if _, err := io.Copy(io.NewOffsetWriter(dst, n.lo), from); err != nil {
			return err
		}
	}
	if err := dst.Truncate(info.Size()); err != nil {
		return err
	}
	n.lo, n.hi = 0, 0
	return nil
}
