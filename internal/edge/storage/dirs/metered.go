package dirs

import (
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/base/vfs"
)

// diskUse is what was asked of the disk of one directory since the process started,
// whatever became of it.
type diskUse struct{ read, write, sync, name operation }

// operation is one kind of what disks are asked for.
type operation struct {
	took          metrics.Timing
	bytes, errors metrics.Count
}

// did counts one that began at a time.
func (o *operation) did(began time.Time, bytes int, err error) {
	o.took.Saw(time.Since(began))
	o.bytes.Add(max(bytes, 0))
	if isDiskError(err) {
		o.errors.Add(1)
	}
}

// isDiskError tells what a disk has done wrong from what it has to say.
func isDiskError(err error) bool {
	for _, answer := range []error{io.EOF, fs.ErrNotExist, fs.ErrExist, fs.ErrClosed, errors.ErrUnsupported} {
		if errors.Is(err, answer) {
			return false
		}
	}
	return err != nil && !vfs.TooManyFiles(err)
}

// metered is a disk whose use is counted. What is sent to clients straight from files
// is not seen here.
type metered struct {
	vfs.FS
	use *diskUse
}

// named counts what changes or looks up names of files and folders.
func (m metered) named(do func() error) error {
	began := time.Now()
	err := do()
	m.use.name.did(began, 0, err)
	return err
}

func (m metered) OpenFile(name string, flag int, perm fs.FileMode) (f vfs.File, err error) {
	err = m.named(func() error {
		f, err = m.FS.OpenFile(name, flag, perm)
		return err
	})
	if err != nil {
		return nil, err
	}
	return meteredFile{f, m.use}, nil
}

func (m metered) Mkdir(name string, perm fs.FileMode) error {
	return m.named(func() error { return m.FS.Mkdir(name, perm) })
}

func (m metered) MkdirAll(name string, perm fs.FileMode) error {
	return m.named(func() error { return m.FS.MkdirAll(name, perm) })
}

func (m metered) Remove(name string) error {
	return m.named(func() error { return m.FS.Remove(name) })
}

func (m metered) RemoveAll(name string) error {
	return m.named(func() error { return m.FS.RemoveAll(name) })
}

func (m metered) Rename(from, to string) error {
	return m.named(func() error { return m.FS.Rename(from, to) })
}

func (m metered) Link(from, to string) error {
	return m.named(func() error { return m.FS.Link(from, to) })
}

func (m metered) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = m.named(func() error {
		list, err = m.FS.ReadDir(name)
		return err
	})
	return list, err
}

func (m metered) SyncDir(name string) error {
	began := time.Now()
	err := m.FS.SyncDir(name)
	m.use.sync.did(began, 0, err)
	return err
}

type meteredFile struct {
	vfs.File
	use *diskUse
}

func (f meteredFile) Read(b []byte) (int, error) {
	began := time.Now()
	n, err := f.File.Read(b)
	f.use.read.did(began, n, err)
	return n, err
}

func (f meteredFile) ReadAt(b []byte, off int64) (int, error) {
	began := time.Now()
	n, err := f.File.ReadAt(b, off)
	f.use.read.did(began, n, err)
	return n, err
}

func (f meteredFile) Write(b []byte) (int, error) {
	began := time.Now()
	n, err := f.File.Write(b)
	f.use.write.did(began, n, err)
	return n, err
}

func (f meteredFile) WriteAt(b []byte, off int64) (int, error) {
	began := time.Now()
	n, err := f.File.WriteAt(b, off)
	f.use.write.did(began, n, err)
	return n, err
}

func (f meteredFile) Truncate(size int64) error {
	began := time.Now()
	err := f.File.Truncate(size)
	f.use.write.did(began, 0, err)
	return err
}

func (f meteredFile) Sync() error {
	began := time.Now()
	err := f.File.Sync()
	f.use.sync.did(began, 0, err)
	return err
}

// uses are the counts of each directory, by its path. The map does not change after
// the directories were loaded: one that comes back goes on with its counts.
type uses map[string]*diskUse

// each goes through the kinds of operations of each directory.
func (u uses) each(dirs []*directory, do func(path, operation string, o *operation)) {
	for _, dir := range dirs {
		use := u[dir.path]
		do(dir.path, "read", &use.read)
		do(dir.path, "write", &use.write)
		do(dir.path, "sync", &use.sync)
		do(dir.path, "name", &use.name)
	}
}

// perOperation are the families of what disks are asked for.
func perOperation() []metrics.Reading[*Dirs] {
	const labels = "logDirectory,operation"
	return []metrics.Reading[*Dirs]{
		{
			Name: "ottla_log_directory_operation_timems", Kind: metrics.Summary, Labels: labels,
			Help: "Time that the disk took, in milliseconds: to read, to write, to sync, or to open, make, list or remove by name.",
			Timings: func(d *Dirs, report func(*metrics.Timing, ...string)) {
				d.figures.uses.each(d.directories(), func(path, op string, o *operation) { report(&o.took, path, op) })
			},
		},
		{
			Name: "ottla_log_directory_operation_bytes_total", Kind: metrics.Counter, Labels: labels,
			Help: "Bytes that were read from logs and checkpoints and written to them, without what went to clients straight from files.",
			Each: func(d *Dirs, report metrics.Report) {
				d.figures.uses.each(d.directories(), func(path, op string, o *operation) {
					if op == "read" || op == "write" {
						report(o.bytes.Value(), path, op)
					}
				})
			},
		},
		{
			Name: "ottla_log_directory_operation_errors_total", Kind: metrics.Counter, Labels: labels,
			Help: "What the disk could not do. Alert when it grows.",
			Each: func(d *Dirs, report metrics.Report) {
				d.figures.uses.each(d.directories(), func(path, op string, o *operation) { report(o.errors.Value(), path, op) })
			},
		},
	}
}
