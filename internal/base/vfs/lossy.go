package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Lossy is the operating system's disk with a memory of what was synced, for
// crash tests of real processes: a killed process loses nothing that it wrote,
// as the kernel still holds it, so the test throws it away with DropUnsynced.
//
// The memory is a journal folder:
//
//	boot-id         what BootID tells; DropUnsynced writes another
//	inodes/N        the synced bytes of file number N
//	tree/PATH       the durable entries of the folder PATH: folders, and hard
//	                links to inodes/N
//
// Each Sync copies the changed range of the file to inodes/N, each SyncDir
// makes the folder's entries in tree the real ones. A kill in the middle of
// that leaves a part of the newer bytes, as a real disk may.
type Lossy struct {
	OS
	journal string
	boot    string

	mu    sync.Mutex
	next  int
	files map[string]*lossyNode // by cleaned absolute path
}

// lossyNode is what is known of one file, whatever name it has.
type lossyNode struct {
	name   string // where it lies now; "" once it is removed
	inode  string // its file in inodes, made at the first Sync or SyncDir
	lo, hi int64  // range that may differ from the synced bytes
	size   int64  // end of the largest write or truncation seen
}

// NewLossy opens a journal folder, making it if needed. What lies in the given
// folders before is taken as synced.
func NewLossy(journal string, folders ...string) (*Lossy, error) {
	l := &Lossy{journal: journal, files: map[string]*lossyNode{}}
	for _, d := range []string{"inodes", "tree"} {
		if err := os.MkdirAll(filepath.Join(journal, d), 0o755); err != nil {
			return nil, err
		}
	}
	if err := l.readBoot(); err != nil {
		return nil, err
	}
	used, err := os.ReadDir(filepath.Join(journal, "inodes"))
	if err != nil {
		return nil, err
	}
	for _, e := range used {
		if n, err := strconv.Atoi(e.Name()); err == nil && n >= l.next {
			l.next = n + 1
		}
	}
	for _, folder := range folders {
		if err := l.adopt(folder); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *Lossy) readBoot() error {
	name := filepath.Join(l.journal, "boot-id")
	b, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		b = []byte(processBootID())
		err = os.WriteFile(name, b, 0o644)
	}
	l.boot = string(b)
	return err
}

// adopt takes all that lies in a folder as synced.
func (l *Lossy) adopt(folder string) error {
	if _, err := os.Stat(folder); os.IsNotExist(err) {
		return nil
	}
	return filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(l.tree(name), 0o755)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		n := l.node(name)
		if err := l.syncNode(n); err != nil {
			return err
		}
		return l.link(n, name)
	})
}

// BootID is that of the journal.
func (l *Lossy) BootID(string) string { return l.boot }

func absolute(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return filepath.Clean(name)
}

func (l *Lossy) tree(name string) string { return filepath.Join(l.journal, "tree", absolute(name)) }

// node finds or makes what is known of a file. The caller holds mu.
func (l *Lossy) node(name string) *lossyNode {
	key := absolute(name)
	n := l.files[key]
	if n == nil {
		n = &lossyNode{name: key}
		if info, err := os.Stat(name); err == nil {
			n.hi, n.size = info.Size(), info.Size()
		}
		l.files[key] = n
	}
	return n
}

// OpenFile opens a real file.
func (l *Lossy) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := l.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.node(name)
	if flag&os.O_TRUNC != 0 {
		n.truncated(0)
	}
	return &lossyFile{osFile: f.(osFile), disk: l, node: n}, nil
}

// Link is refused, as the memory knows each file by one name.
func (l *Lossy) Link(_, to string) error { return fail("link", to, errors.ErrUnsupported) }

// Rename takes what is known along with the file or folder.
func (l *Lossy) Rename(from, to string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.OS.Rename(from, to); err != nil {
		return err
	}
	old, target := absolute(from), absolute(to)
	l.forget(target)
	for name, n := range l.files {
		if rest, ok := strings.CutPrefix(name, old); ok && (rest == "" || rest[0] == filepath.Separator) {
			delete(l.files, name)
			n.name = target + rest
			l.files[n.name] = n
		}
	}
	return nil
}

// Remove removes a file; the journal keeps it until the folder is synced.
func (l *Lossy) Remove(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.OS.Remove(name); err != nil {
		return err
	}
	l.forget(absolute(name))
	return nil
}

// RemoveAll removes a folder; the journal keeps it until its parent is synced.
func (l *Lossy) RemoveAll(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.OS.RemoveAll(name); err != nil {
		return err
	}
	l.forget(absolute(name))
	return nil
}

func (l *Lossy) forget(key string) {
	for name, n := range l.files {
		if rest, ok := strings.CutPrefix(name, key); ok && (rest == "" || rest[0] == filepath.Separator) {
			n.name = ""
			delete(l.files, name)
		}
	}
}

// SyncDir makes the journal's entries of a folder the real ones.
func (l *Lossy) SyncDir(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.OS.SyncDir(name); err != nil {
		return err
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.tree(name), 0o755); err != nil {
		return err
	}
	here := map[string]bool{}
	for _, e := range entries {
		here[e.Name()] = true
		child := filepath.Join(name, e.Name())
		if e.IsDir() {
			err = os.MkdirAll(l.tree(child), 0o755)
		} else {
			err = l.link(l.node(child), child)
		}
		if err != nil {
			return fmt.Errorf("journal of %s: %w", child, err)
		}
	}
	return l.dropEntries(l.tree(name), here)
}

func (l *Lossy) dropEntries(tree string, keep map[string]bool) error {
	known, err := os.ReadDir(tree)
	if err != nil {
		return err
	}
	for _, e := range known {
		if !keep[e.Name()] {
			if err := os.RemoveAll(filepath.Join(tree, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// link enters a file in the tree, under the bytes it has synced so far.
func (l *Lossy) link(n *lossyNode, name string) error {
	inode, err := l.inode(n)
	if err != nil {
		return err
	}
	entry := l.tree(name)
	if same, err := sameFile(inode, entry); err != nil || same {
		return err
	}
	aside := filepath.Join(l.journal, "link"+tmpSuffix)
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := os.Link(inode, aside); err != nil {
		return err
	}
	return os.Rename(aside, entry)
}

func sameFile(a, b string) (bool, error) {
	x, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	y, err := os.Stat(b)
	if os.IsNotExist(err) {
		return false, nil
	}
	return err == nil && os.SameFile(x, y), err
}

// inode is the file with the synced bytes, empty at first.
func (l *Lossy) inode(n *lossyNode) (string, error) {
	if n.inode != "" {
		return n.inode, nil
	}
	name := filepath.Join(l.journal, "inodes", strconv.Itoa(l.next))
	l.next++
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return "", err
	}
	n.inode = name
	return name, f.Close()
}
