package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mem is a disk in memory. Beside what programs see it keeps what a loss of
// power would leave: of a file the bytes of its last Sync, of a folder the
// entries of its last SyncDir. Crash makes a new disk from that.
type Mem struct {
	mu      sync.RWMutex
	root    *node
	pending []change // changes to folders that no SyncDir has made durable, oldest first
	locks   map[string]bool
	boot    string
	clock   func() time.Time
}

// node is a file or a folder.
type node struct {
	dir bool
	mod time.Time

	// Of a file: its bytes, the bytes of its last Sync, and the range in which
	// they may differ. The range may be empty while the lengths differ.
	data, synced []byte
	dirtyLo      int
	dirtyHi      int

	// Of a folder: its entries, and those that are durable.
	entries, durable map[string]*node
}

// change sets one durable entry of a folder, or removes it (child nil). A
// rename is one change with two parts, so that a crash never shows half of it.
type change struct{ parts []entryChange }

type entryChange struct {
	parent *node
	name   string
	child  *node
}

// NewMem makes an empty disk.
func NewMem() *Mem {
	return &Mem{root: newFolder(time.Now()), locks: map[string]bool{}, boot: processBootID(), clock: time.Now}
}

func newFolder(mod time.Time) *node {
	return &node{dir: true, mod: mod, entries: map[string]*node{}, durable: map[string]*node{}}
}

// BootID differs from that of the disk this one crashed from.
func (m *Mem) BootID(string) string { return m.boot }

func split(name string) []string {
	clean := strings.Trim(path.Clean(strings.ReplaceAll(name, "\\", "/")), "/")
	if clean == "" || clean == "." {
		return nil
	}
	return strings.Split(clean, "/")
}

func (m *Mem) find(name string) (*node, error) {
	n := m.root
	for _, part := range split(name) {
		if !n.dir {
			return nil, errNotFolder
		}
		child, ok := n.entries[part]
		if !ok {
			return nil, fs.ErrNotExist
		}
		n = child
	}
	return n, nil
}

var errNotFolder = errors.New("not a folder")
var errIsFolder = errors.New("is a folder")

// parent finds the folder that holds name.
func (m *Mem) parent(name string) (*node, string, error) {
	parts := split(name)
	if len(parts) == 0 {
		return nil, "", fs.ErrInvalid
	}
	p, err := m.find(strings.Join(parts[:len(parts)-1], "/"))
	if err == nil && !p.dir {
		err = errNotFolder
	}
	return p, parts[len(parts)-1], err
}

func fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func (m *Mem) set(parts ...entryChange) {
	for _, p := range parts {
		if p.child == nil {
			delete(p.parent.entries, p.name)
		} else {
			p.parent.entries[p.name] = p.child
		}
		p.parent.mod = m.clock()
	}
	m.pending = append(m.pending, change{parts})
}

// OpenFile takes the flags of package os; O_APPEND is not supported.
func (m *Mem) OpenFile(name string, flag int, _ fs.FileMode) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	switch {
	case err == nil && flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, fail("open", name, fs.ErrExist)
	case err == nil && n.dir:
		return nil, fail("open", name, errIsFolder)
	case errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0:
		p, base, err := m.parent(name)
		if err != nil {
			return nil, fail("open", name, err)
		}
		n = &node{mod: m.clock()}
		m.set(entryChange{p, base, n})
	case err != nil:
		return nil, fail("open", name, err)
	case flag&os.O_TRUNC != 0:
		n.truncate(0, m.clock())
	}
	access := flag & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR)
	return &memFile{disk: m, node: n, name: name, readable: access != os.O_WRONLY, writable: access != os.O_RDONLY}, nil
}

// Mkdir makes a folder; SyncDir of its parent makes it durable.
func (m *Mem) Mkdir(name string, _ fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	parent, err := m.find(path.Dir(name))
	switch {
	case err != nil:
	case !parent.dir:
		err = errNotFolder
	case parent.entries[path.Base(name)] != nil:
		err = fs.ErrExist
	}
	if err != nil {
		return fail("mkdir", name, err)
	}
	m.set(entryChange{parent, path.Base(name), newFolder(m.clock())})
	return nil
}

// MkdirAll makes a folder and its parents; SyncDir of each parent makes them
// durable.
func (m *Mem) MkdirAll(name string, _ fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.root
	for _, part := range split(name) {
		if !n.dir {
			return fail("mkdir", name, errNotFolder)
		}
		child, ok := n.entries[part]
		if !ok {
			child = newFolder(m.clock())
			m.set(entryChange{n, part, child})
		}
		n = child
	}
	if !n.dir {
		return fail("mkdir", name, errNotFolder)
	}
	return nil
}

// Remove removes a file or an empty folder. Who has the file open keeps it.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	if err == nil && n.dir && len(n.entries) > 0 {
		err = errors.New("folder is not empty")
	}
	if err != nil {
		return fail("remove", name, err)
	}
	return m.unlink(name)
}

// RemoveAll removes a folder with its contents.
func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.find(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return m.unlink(name)
}

func (m *Mem) unlink(name string) error {
	p, base, err := m.parent(name)
	if err != nil {
		return fail("remove", name, err)
	}
	m.set(entryChange{p, base, nil})
	return nil
}

// Rename replaces the target. Before the SyncDir of both folders a crash shows
// either all or nothing of it.
func (m *Mem) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(from)
	if err != nil {
		return fail("rename", from, err)
	}
	p, base, _ := m.parent(from)
	q, target, err := m.parent(to)
	if err != nil {
		return fail("rename", to, err)
	}
	if old, ok := q.entries[target]; ok && old.dir && len(old.entries) > 0 {
		return fail("rename", to, fs.ErrExist)
	}
	if p == q && base == target {
		return nil
	}
	m.set(entryChange{p, base, nil}, entryChange{q, target, n})
	return nil
}

// Link gives a file a second name. Before the SyncDir of its folder a crash takes
// the name away, not the file.
func (m *Mem) Link(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(from)
	if err == nil && n.dir {
		err = errIsFolder
	}
	if err != nil {
		return fail("link", from, err)
	}
	p, base, err := m.parent(to)
	if err == nil && p.entries[base] != nil {
		err = fs.ErrExist
	}
	if err != nil {
		return fail("link", to, err)
	}
	m.set(entryChange{p, base, n})
	return nil
}

// ReadDir lists a folder in order of names.
func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.find(name)
	if err == nil && !n.dir {
		err = errNotFolder
	}
	if err != nil {
		return nil, fail("readdir", name, err)
	}
	list := make([]fs.DirEntry, 0, len(n.entries))
	for base, child := range n.entries {
		list = append(list, fs.FileInfoToDirEntry(child.info(base)))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Stat describes a file or folder.
func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.find(name)
	if err != nil {
		return nil, fail("stat", name, err)
	}
	return n.info(path.Base(name)), nil
}

// SyncDir makes the folder's entries durable.
func (m *Mem) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	if err == nil && !n.dir {
		err = errNotFolder
	}
	if err != nil {
		return fail("syncdir", name, err)
	}
	m.pending = slices.DeleteFunc(m.pending, func(c change) bool {
		touches := slices.ContainsFunc(c.parts, func(p entryChange) bool { return p.parent == n })
		if touches {
			c.apply()
		}
		return touches
	})
	return nil
}

func (c change) apply() {
	for _, p := range c.parts {
		if p.child == nil {
			delete(p.parent.durable, p.name)
		} else {
			p.parent.durable[p.name] = p.child
		}
	}
}

// Lock takes a lock that lives until Close or the crash of the disk.
func (m *Mem) Lock(name string) (io.Closer, error) {
	f, err := m.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	_ = f.Close()
	key := strings.Join(split(name), "/")
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locks[key] {
		return nil, fail("lock", name, ErrLocked)
	}
	m.locks[key] = true
	return &memLock{disk: m, key: key}, nil
}

type memLock struct {
	disk *Mem
	key  string
	once sync.Once
}

func (l *memLock) Close() error {
	l.once.Do(func() {
		l.disk.mu.Lock()
		defer l.disk.mu.Unlock()
		delete(l.disk.locks, l.key)
	})
	return nil
}

// memSpace is the size that a disk in memory claims.
const memSpace = 1 << 40

// Space tells a terabyte, all of it usable.
func (m *Mem) Space(string) (total, usable int64, err error) { return memSpace, memSpace, nil }
