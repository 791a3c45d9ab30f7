package partitions

import (
	"sync/atomic"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/core/replica"
)

// fate is shared by the replicas of one directory, until it fails. On a disk that hangs,
// whoever holds the lock of a replica may hold it for ever: the others go by this.
type fate struct {
	failed atomic.Bool
	fell   chan struct{} // closed when it fails
}

// fateOf is that of the replicas in a directory that works.
func (m *Manager) fateOf(dir kafka.DirID) *fate {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.fates[dir]
	if f == nil {
		f = &fate{fell: make(chan struct{})}
		m.fates[dir] = f
	}
	return f
}

// fell lets nobody wait for the replicas of a directory any more. Replicas that come
// back have another fate.
func (m *Manager) fell(dir kafka.DirID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.fates[dir]; f != nil {
		f.failed.Store(true)
		close(f.fell)
		delete(m.fates, dir)
	}
}

// lieIn has the replica lie in a directory, and share the fate of what does. mu is held.
func (p *state) lieIn(dir kafka.DirID) {
	p.dir.Store(&dir)
	p.fate.Store(p.host.fateOf(dir))
}

// down tells whether the replica's directory has failed. It needs no lock.
func (p *state) down() bool {
	f := p.fate.Load()
	return f != nil && f.failed.Load()
}

// hand gives a replica its role. A new leader notes its epoch in the log, which may be in
// a write that hangs: nobody waits for that once the directory has failed.
func (m *Manager) hand(p *Partition, a replica.Assigned) error {
	f := p.fate.Load()
	if f == nil || a.Leader != m.cfg.Self {
		return p.membership().assign(a)
	}
	done := make(chan error, 1)
	go func() { done <- p.membership().assign(a) }()
	select {
	case err := <-done:
		return err
	case <-f.fell:
		return nil
	}
}

// enter takes the lock of the replica, unless its directory has failed or does so
// meanwhile.
func (p *state) enter() bool {
	f := p.fate.Load()
	switch {
	case f == nil:
		p.mu.Lock()
		return true
	case f.failed.Load():
		return false
	case p.mu.TryLock():
		return true
	}
	return p.enterWith(f)
}

// enterWith waits for the lock in another goroutine, in its turn among those who do.
func (p *state) enterWith(f *fate) bool {
	entered := make(chan struct{})
	go func() {
		p.mu.Lock()
		select {
		case entered <- struct{}{}:
		case <-f.fell:
			p.mu.Unlock()
		}
	}()
	select {
	case <-entered:
		return true
	case <-f.fell:
		return false
	}
}
