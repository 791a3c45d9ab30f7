package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Op names a kind of disk operation; kinds can be or-ed together in a Rule.
type Op uint16

// The operations that a Fault can count and break.
const (
	OpOpen     Op = 1 << iota // opening an existing file
	OpCreate                  // opening with O_CREATE
	OpRead                    // reads, listing a folder, Stat
	OpWrite                   // writes
	OpTruncate                // changing a file's size
	OpSync                    // syncing a file
	OpSyncDir                 // syncing a folder
	OpRename
	OpRemove
	OpMkdir
	OpLock

	// OpChange is every operation that changes the disk.
	OpChange = OpCreate | OpWrite | OpTruncate | OpSync | OpSyncDir | OpRename | OpRemove | OpMkdir
	// OpAny is every operation.
	OpAny = OpChange | OpOpen | OpRead | OpLock
)

// Errors that a Rule injects. EIO, ENOSPC and EMFILE are those of the system.
var (
	ErrIO           error = syscall.EIO
	ErrNoSpace      error = syscall.ENOSPC
	ErrTooManyFiles error = syscall.EMFILE
	// ErrStopped answers every operation after StopAfter has struck: the
	// machine is off.
	ErrStopped = errors.New("the machine is off")
)

// Rule says which operations fail and how.
type Rule struct {
	Ops  Op     // kinds that count
	Path string // only names that contain this text; "" is all
	Skip int    // matching operations that still go well
	Only int    // how many then fail; 0 is all of them

	Err   error           // what they return; nil with a Hang is success
	Short bool            // a failing write still writes the first half of its bytes
	Hang  <-chan struct{} // they wait until it is closed, then return Err or go on
}

// Fault is a disk on which chosen operations fail. It counts the operations
// that change the disk, so that a test can stop at each of them in turn.
type Fault struct {
	under FS

	mu      sync.Mutex
	rules   []*Rule
	changes int
	stopAt  int // OpChange operations from this one on fail; negative is never

	full atomic.Pointer[string] // names with this text lie on full volumes
}

// NewFault wraps a disk on which nothing fails yet.
func NewFault(under FS) *Fault { return &Fault{under: under, stopAt: -1} }

// Inject adds a rule. The first rule that matches an operation decides.
func (f *Fault) Inject(r Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, &r)
}

// Heal drops all rules and the stop.
func (f *Fault) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, f.stopAt = nil, -1
}

// Changes tells how many operations that change the disk were tried so far.
func (f *Fault) Changes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes
}

// StopAfter lets n more operations change the disk. The next one and every
// operation after it, reads too, fails with ErrStopped.
func (f *Fault) StopAfter(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopAt = f.changes + n
}

// try decides an operation: nil to go on, else the error and whether half of
// the bytes are to be written.
func (f *Fault) try(op Op, name string) (short bool, err error) {
	f.mu.Lock()
	if op&OpChange != 0 {
		f.changes++
	}
	if f.stopAt >= 0 && f.changes > f.stopAt {
		f.mu.Unlock()
		return false, fail("fault", name, ErrStopped)
	}
	r := f.match(op, name)
	f.mu.Unlock()
	if r == nil {
		return false, nil
	}
	if r.Hang != nil {
		<-r.Hang
	}
	return r.Short, fail("fault", name, r.Err)
}

func (f *Fault) match(op Op, name string) *Rule {
	for _, r := range f.rules {
		if r.Ops&op == 0 || !strings.Contains(name, r.Path) {
			continue
		}
		if r.Skip > 0 {
			r.Skip--
			continue
		}
		if r.Only < 0 {
			continue // used up
		}
		if r.Only > 0 {
			if r.Only--; r.Only == 0 {
				r.Only = -1
			}
		}
		return r
	}
	return nil
}

func (f *Fault) check(op Op, name string) error {
	_, err := f.try(op, name)
	return err
}

// OpenFile opens a file whose operations are checked too.
func (f *Fault) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	op := OpOpen
	if flag&os.O_CREATE != 0 {
		op = OpCreate
	}
	if err := f.check(op, name); err != nil {
		return nil, err
	}
	file, err := f.under.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultFile{File: file, fault: f}, nil
}

// Mkdir is an OpMkdir.
func (f *Fault) Mkdir(name string, perm fs.FileMode) error {
	if err := f.check(OpMkdir, name); err != nil {
		return err
	}
	return f.under.Mkdir(name, perm)
}

// MkdirAll is an OpMkdir.
func (f *Fault) MkdirAll(name string, perm fs.FileMode) error {
	if err := f.check(OpMkdir, name); err != nil {
		return err
	}
	return f.under.MkdirAll(name, perm)
}

// Remove is an OpRemove.
func (f *Fault) Remove(name string) error {
	if err := f.check(OpRemove, name); err != nil {
		return err
	}
	return f.under.Remove(name)
}

// RemoveAll is one OpRemove.
func (f *Fault) RemoveAll(name string) error {
	if err := f.check(OpRemove, name); err != nil {
		return err
	}
	return f.under.RemoveAll(name)
}

// Rename is an OpRename of the old name.
func (f *Fault) Rename(from, to string) error {
	if err := f.check(OpRename, from); err != nil {
		return err
	}
	return f.under.Rename(from, to)
}

// Link is an OpCreate of the new name.
func (f *Fault) Link(from, to string) error {
	if err := f.check(OpCreate, to); err != nil {
		return err
	}
	return f.under.Link(from, to)
}

// ReadDir is an OpRead.
func (f *Fault) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.check(OpRead, name); err != nil {
		return nil, err
	}
	return f.under.ReadDir(name)
}

// Stat is an OpRead.
func (f *Fault) Stat(name string) (fs.FileInfo, error) {
	if err := f.check(OpRead, name); err != nil {
		return nil, err
	}
	return f.under.Stat(name)
}

// SyncDir is an OpSyncDir.
func (f *Fault) SyncDir(name string) error {
	if err := f.check(OpSyncDir, name); err != nil {
		return syncFailed(err)
	}
	return f.under.SyncDir(name)
}

// Lock is an OpLock.
func (f *Fault) Lock(name string) (io.Closer, error) {
	if err := f.check(OpLock, name); err != nil {
		return nil, err
	}
	return f.under.Lock(name)
}

// Space never fails by a rule.
func (f *Fault) Space(name string) (total, usable int64, err error) {
	total, usable, err = f.under.Space(name)
	if full := f.full.Load(); full != nil && strings.Contains(name, *full) {
		usable = 0
	}
	return total, usable, err
}

// Full has the volumes of names that contain this text report that nothing is free.
// It lets no write fail; Inject does.
func (f *Fault) Full(path string) { f.full.Store(&path) }

// BootID is that of the disk below.
func (f *Fault) BootID(name string) string { return f.under.BootID(name) }

// faultFile is a file behind a Fault. It hides the system's file, so that no
// bytes pass around the rules.
type faultFile struct {
	File
	fault *Fault
}

func (f *faultFile) OS() *os.File { return nil }

func (f *faultFile) Read(b []byte) (int, error) {
	if err := f.fault.check(OpRead, f.Name()); err != nil {
		return 0, err
	}
	return f.File.Read(b)
}

func (f *faultFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.fault.check(OpRead, f.Name()); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, off)
}

func (f *faultFile) Write(b []byte) (int, error) {
	short, err := f.fault.try(OpWrite, f.Name())
	switch {
	case err == nil:
		return f.File.Write(b)
	case short:
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return 0, err
}

func (f *faultFile) WriteAt(b []byte, off int64) (int, error) {
	short, err := f.fault.try(OpWrite, f.Name())
	switch {
	case err == nil:
		return f.File.WriteAt(b, off)
	case short:
		n, _ := f.File.WriteAt(b[:len(b)/2], off)
		return n, err
	}
	return 0, err
}

func (f *faultFile) Truncate(size int64) error {
	if err := f.fault.check(OpTruncate, f.Name()); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faultFile) Sync() error {
	if err := f.fault.check(OpSync, f.Name()); err != nil {
		return syncFailed(err)
	}
	return f.File.Sync()
}
