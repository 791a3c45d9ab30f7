package storage

import (
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
)

// Files bounds how many files the logs of a node hold open. A file is opened
// when it is needed and stays open until room is wanted for another, so that
// 20,000 idle partitions need no descriptors at all.
type Files struct {
	limit int

	mu   sync.Mutex
	hand *file // a ring of open files, nil when there is none
	open int

	settings atomic.Pointer[config.LogConfig] // those that a log got last
}

// share gives settings that are not to be changed: most logs have the same, and need
// not have them each.
func (p *Files) share(c config.LogConfig) *config.LogConfig {
	if last := p.settings.Load(); last != nil && *last == c {
		return last
	}
	own := c // c itself stays off the heap
	p.settings.Store(&own)
	return &own
}

// NewFiles makes a pool of at most limit open files, and of at most half of what
// the process may have open: the rest is for connections. Files that are being
// read or written are not closed, so the limit may be passed for a moment.
func NewFiles(limit int) *Files { return &Files{limit: max(min(limit, vfs.OpenFileLimit()/2), 1)} }

// Open tells how many files are open.
func (p *Files) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// file is one file of a segment, open or not.
type file struct {
	pool   *Files
	folder *folder
	base   kafka.Offset

	mu     sync.Mutex
	suffix string // changes when the file is renamed
	f      vfs.File
	refs   int
	pinEnd int64 // end of the furthest range that a pin reads; 0 without pins
	pins   int
	used   bool // since the pool's hand last passed
	dead   bool // replaced or removed: close at the last release
	unborn bool // it is not there yet, and is made when it is first opened
	fresh  bool // it was made so; its folder's entry may be unsynced

	prev, next *file // in the pool's ring; guarded by the pool
}

func (p *Files) file(f *folder, base kafka.Offset, suffix string) *file {
	return &file{pool: p, folder: f, base: base, suffix: suffix}
}

func (f *file) path() string { return f.folder.join(FileName(f.base, f.suffix)) }

// acquire opens the file if it is not. Every acquire is paired with a release.
func (f *file) acquire() (vfs.File, error) { return f.opened(os.O_RDWR) }

// acquireNew does so and makes the file if it is missing.
func (f *file) acquireNew() (vfs.File, error) { return f.opened(os.O_RDWR | os.O_CREATE) }

func (f *file) opened(flag int) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.f == nil {
		if f.dead {
			return nil, fs.ErrClosed
		}
		if f.unborn {
			flag |= os.O_CREATE
		}
		opened, err := f.folder.open(FileName(f.base, f.suffix), flag)
		if err != nil {
			return nil, err
		}
		f.f, f.fresh, f.unborn = opened, f.fresh || f.unborn, false
		f.pool.add(f)
	}
	f.refs++
	f.used = true
	return f.f, nil
}

// isUnborn tells whether the file is not there yet.
func (f *file) isUnborn() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unborn
}

// bear makes the file, if it is not there yet.
func (f *file) bear() error {
	if !f.isUnborn() {
		return nil
	}
	_, err := f.acquire()
	if err == nil {
		f.release()
	}
	return err
}

// takeFresh tells, once, that the file was made when it was needed.
func (f *file) takeFresh() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	fresh := f.fresh
	f.fresh = false
	return fresh
}

func (f *file) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refs--
	if f.dead && f.refs == 0 {
		_ = f.shut()
	}
}

// pin keeps the bytes up to end readable by whoever holds the file: truncation
// then works on a copy.
func (f *file) pin(end int64) (vfs.File, error) {
	opened, err := f.acquire()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pins++
	f.pinEnd = max(f.pinEnd, end)
	return opened, nil
}

func (f *file) unpin() {
	f.mu.Lock()
	if f.pins--; f.pins == 0 {
		f.pinEnd = 0
	}
	f.mu.Unlock()
	f.release()
}

// pinnedAbove tells whether a reader may still read bytes from pos on.
func (f *file) pinnedAbove(pos int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pinEnd > pos
}

// retire closes the file for good, at once or when its last reader is done.
func (f *file) retire() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
	if f.refs == 0 {
		return f.shut()
	}
	return nil
}

// closeIdle closes the file until it is needed again.
func (f *file) closeIdle() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refs > 0 {
		return nil
	}
	return f.shut()
}

// shut closes an open file. The caller holds mu.
func (f *file) shut() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	f.pool.drop(f)
	return err
}

// rename changes the ending of the file's name; a file that is missing, as a
// transaction index may be, is no error.
func (f *file) rename(suffix string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := f.path()
	to := f.folder.join(FileName(f.base, suffix))
	if err := f.folder.fs.Rename(from, to); err != nil && !os.IsNotExist(err) {
		return err
	}
	f.suffix = suffix
	return nil
}

// add enters an open file and closes another one when there are too many. The
// caller holds f.mu; other files are only tried, so no two can wait for each
// other.
func (p *Files) add(f *file) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open++
	if p.hand == nil {
		f.prev, f.next = f, f
		p.hand = f
	} else {
		f.prev, f.next = p.hand.prev, p.hand
		f.prev.next, f.next.prev = f, f
	}
	p.shrink(p.limit, f)
}

// shrink closes files that nobody uses, all but keep, until so few are open.
func (p *Files) shrink(limit int, keep *file) {
	for tries := 2 * p.open; p.open > limit && tries > 0; tries-- {
		victim := p.hand
		p.hand = victim.next
		if victim != keep && victim.mu.TryLock() {
			p.evict(victim)
			victim.mu.Unlock()
		}
	}
}

// evict closes a file that nobody used since the hand last passed.
func (p *Files) evict(f *file) {
	if f.used || f.refs > 0 {
		f.used = false
		return
	}
	// An error of close tells nothing that the next sync would not tell.
	_ = f.f.Close()
	f.f = nil
	p.unlink(f)
}

func (p *Files) drop(f *file) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unlink(f)
}

func (p *Files) unlink(f *file) {
	p.open--
	if f.next == f {
		p.hand = nil
	} else {
		f.prev.next, f.next.prev = f.next, f.prev
		if p.hand == f {
			p.hand = f.next
		}
	}
	f.prev, f.next = nil, nil
}
