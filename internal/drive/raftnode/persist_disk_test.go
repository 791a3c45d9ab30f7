package raftnode

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/metarec"
	"github.com/ottla/ottla/internal/base/vfs"
)

// moment is when a crash comes, seen from a step of the disk.
type moment string

const (
	before moment = "before"
	during moment = "during"
	after  moment = "after"
)

// trap is what happens at one step of a disk.
type trap struct {
	site  string
	nth   int    // of that site, from 1
	when  moment // the machine goes off then; "" when a fault comes instead
	err   error  // the step fails
	short bool   // and a write writes half
	stall bool   // the step takes 20 ms
}

// persistDisk is a disk whose every changing step has the name of a site. It
// counts them, and has one trap.
type persistDisk struct {
	*vfs.Mem
	mu    sync.Mutex
	trap  trap
	count map[string]int
	off   bool
	// renamed is what got or lost its name last, for the name of the folder's sync.
	renamed string
}

func newPersistDisk(mem *vfs.Mem, t trap) *persistDisk {
	return &persistDisk{Mem: mem, trap: t, count: map[string]int{}}
}

// fileClass names a kind of file of the metadata directory.
func fileClass(name string) string {
	base := filepath.Base(name)
	switch ext := filepath.Ext(base); {
	case strings.HasPrefix(base, quorumStateName):
		return base
	case strings.HasSuffix(base, "-download"+partSuffix):
		return "download"
	case strings.HasSuffix(base, partSuffix):
		return "snapshot in the making"
	case strings.HasSuffix(base, deletedSuffix), strings.HasSuffix(base, snapshotSuffix):
		return "snapshot"
	case strings.HasSuffix(base, ".deleted"):
		return "segment to be deleted"
	case ext == ".log", ext == ".index", ext == ".timeindex", ext == ".txnindex":
		return "segment" + ext
	case strings.HasSuffix(base, ".snapshot.tmp"):
		return "producers.tmp"
	case ext == ".snapshot":
		return "producers"
	}
	return base
}

// folderSite names the sync of a folder by what it makes durable.
func folderSite(name, renamed string) string {
	switch {
	case filepath.Base(name) != filepath.Base(metadataDir):
		return "sync folder above"
	case renamed == quorumStateName+".tmp":
		return "sync folder of quorum-state"
	case strings.HasPrefix(renamed, metarec.VotesLostFile):
		return "sync folder of " + metarec.VotesLostFile
	case renamed == "download", renamed == "snapshot in the making":
		return "sync folder of a snapshot"
	}
	return "sync folder of the log"
}

// step runs one step. A machine that is off fails everything.
func (d *persistDisk) step(verb, name string, do func() error, halve func()) error {
	d.mu.Lock()
	site := verb + " " + fileClass(name)
	switch verb {
	case "make":
		site = "make folder"
	case "rename":
		d.renamed = fileClass(name)
	case "remove":
		if fileClass(name) == metarec.VotesLostFile {
			d.renamed = metarec.VotesLostFile
		}
	case "sync folder":
		site = folderSite(name, d.renamed)
	}
	if d.off {
		d.mu.Unlock()
		return vfs.ErrStopped
	}
	d.count[site]++
	hit := d.trap.site == site && d.trap.nth == d.count[site]
	t := d.trap
	d.off = hit && t.when != ""
	d.mu.Unlock()
	if !hit {
		return do()
	}
	if t.stall {
		wait := make(chan struct{})
		time.AfterFunc(20*time.Millisecond, func() { close(wait) })
		<-wait
		return do()
	}
	if t.err != nil {
		if t.short && halve != nil {
			halve()
		}
		return &fs.PathError{Op: verb, Path: name, Err: t.err}
	}
	switch t.when {
	case during:
		switch {
		case halve != nil:
			halve()
		case verb != "sync" && verb != "sync folder": // done, and nothing of it is durable
			_ = do()
		}
	case after:
		_ = do()
	}
	return vfs.ErrStopped
}

func (d *persistDisk) isOff() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.off
}

func (d *persistDisk) OpenFile(name string, flag int, perm fs.FileMode) (f vfs.File, err error) {
	open := func() error { f, err = d.Mem.OpenFile(name, flag, perm); return err }
	_, missing := d.Mem.Stat(name)
	switch {
	case flag&os.O_CREATE != 0 && missing != nil:
		err = d.step("create", name, open, nil)
	case d.isOff():
		err = vfs.ErrStopped
	default:
		err = open()
	}
	if err != nil {
		return nil, err
	}
	return &persistFile{f, d}, nil
}

func (d *persistDisk) Rename(from, to string) error {
	return d.step("rename", from, func() error { return d.Mem.Rename(from, to) }, nil)
}

func (d *persistDisk) Remove(name string) error {
	return d.step("remove", name, func() error { return d.Mem.Remove(name) }, nil)
}

func (d *persistDisk) SyncDir(name string) error {
	return d.step("sync folder", name, func() error { return d.Mem.SyncDir(name) }, nil)
}

func (d *persistDisk) MkdirAll(name string, perm fs.FileMode) error {
	return d.step("make", name, func() error { return d.Mem.MkdirAll(name, perm) }, nil)
}

func (d *persistDisk) ReadDir(name string) ([]fs.DirEntry, error) {
	if d.isOff() {
		return nil, vfs.ErrStopped
	}
	return d.Mem.ReadDir(name)
}

type persistFile struct {
	vfs.File
	d *persistDisk
}

func (f *persistFile) Write(b []byte) (n int, err error) {
	err = f.d.step("write", f.Name(), func() error { n, err = f.File.Write(b); return err },
		func() { n, _ = f.File.Write(b[:len(b)/2]) })
	return n, err
}

func (f *persistFile) WriteAt(b []byte, off int64) (n int, err error) {
	err = f.d.step("write", f.Name(), func() error { n, err = f.File.WriteAt(b, off); return err },
		func() { n, _ = f.File.WriteAt(b[:len(b)/2], off) })
	return n, err
}

func (f *persistFile) Truncate(size int64) error {
	return f.d.step("cut", f.Name(), func() error { return f.File.Truncate(size) }, nil)
}

func (f *persistFile) Sync() error {
	return f.d.step("sync", f.Name(), func() error { return f.File.Sync() }, nil)
}

func (f *persistFile) ReadAt(b []byte, off int64) (int, error) {
	if f.d.isOff() {
		return 0, vfs.ErrStopped
	}
	return f.File.ReadAt(b, off)
}

func (f *persistFile) OS() *os.File { return nil }

// fate is what a crash leaves of what was not synced.
type fate string

var fates = []fate{"lost", "torn", "kept"}

// leave is the disk after a crash. A process that is killed leaves everything it
// has written; a machine that goes off does not.
func (f fate) leave(mem *vfs.Mem, seed uint64) *vfs.Mem {
	switch f {
	case "lost":
		return mem.Crash()
	case "torn":
		return mem.CrashTorn(seed)
	}
	return mem
}

func (t trap) String() string {
	what := string(t.when)
	switch {
	case t.stall:
		what = "stall at"
	case t.err != nil:
		what = fmt.Sprintf("%v (short: %v) at", t.err, t.short)
	}
	return fmt.Sprintf("%s %s, time %d", what, t.site, t.nth)
}
