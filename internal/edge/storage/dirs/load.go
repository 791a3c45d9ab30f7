package dirs

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

func isDamaged(err error) bool { return errors.Is(err, storage.ErrBadCheckpoint) }

// Load opens every log in the claimed log directories. A directory in which
// something cannot be read goes offline; the error is for what must stop the
// node: a folder that is no partition, a partition that is there twice, no
// directory that works, or the metadata log in one that does not.
func Load(c *Claimed, opt Options) (*Dirs, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.Files == nil {
		opt.Files = storage.NewFiles(math.MaxInt)
	}
	d := loading{&Dirs{opt: opt, fs: opt.Files.Relieve(c.fs), claimed: c, figures: figures{uses: uses{}}, watched: make(chan struct{}), grace: closeGrace}}
	d.SetLive(opt.Live)
	var list []*directory
	for _, from := range c.Directories {
		if from.Logs {
			d.figures.uses[from.Path] = &diskUse{}
			list = append(list, d.directory(from))
		}
	}
	d.figures.scrubs = make([]scrubFigures, len(list))
	d.list.Store(&list)
	if err := d.load(); err != nil {
		d.abandon()
		return nil, err
	}
	for _, dir := range list {
		if dir.offline() != nil {
			go d.retire(dir)
		}
	}
	d.loaded.Store(true)
	return d.Dirs, nil
}

// loading is what finding and opening the logs does to directories that nobody
// uses yet.
type loading struct{ *Dirs }

func (d loading) directory(from *Directory) *directory {
	disk := metered{d.claimed.fs, d.figures.uses[from.Path]}
	dir := &directory{
		path: from.Path, id: from.ID, disk: disk,
		logs:        map[kafka.TopicPartition]*storage.Log{},
		futures:     map[kafka.TopicPartition]*storage.Log{},
		uncleanable: map[*storage.Log]bool{},
		checkpoints: checkpoints{fs: d.opt.Files.Relieve(disk), root: from.Path},
		births:      storage.NewBirths(d.work.Go),
		fell:        make(chan struct{}),
		retired:     make(chan struct{}),
	}
	if from.Err != nil {
		dir.err = fmt.Errorf("log directory %s cannot be used: %w", from.Path, from.Err)
		close(dir.fell)
		d.opt.Logger.Error("log directory is offline", "dir", from.Path, "error", from.Err)
	}
	return dir
}

func (d loading) load() error {
	fatal := make([]error, len(d.directories()))
	var loading sync.WaitGroup
	for i, dir := range d.directories() {
		if dir.offline() == nil {
			loading.Go(func() { fatal[i] = d.loadDirectory(dir) })
		}
	}
	loading.Wait()
	if err := errors.Join(fatal...); err != nil {
		return err
	}
	if len(d.OnlineIDs()) == 0 {
		return fmt.Errorf("no log directory works: %w", d.directories()[0].offline())
	}
	for _, dir := range d.directories() {
		if err := dir.offline(); err != nil && dir.path == d.claimed.Metadata.Path {
			return fmt.Errorf("the directory of the metadata log does not work: %w", err)
		}
	}
	return nil
}

// loadDirectory opens the logs of one directory. The error it returns is fatal;
// a disk that cannot be read only takes the directory offline.
func (d loading) loadDirectory(dir *directory) error {
	began := time.Now()
	names, fatal, err := d.scan(dir)
	if fatal != nil {
		return fatal
	}
	if err == nil {
		err = d.prepare(dir)
	}
	if err == nil {
		err = d.openAll(dir, names)
	}
	if err == nil && !dir.clean {
		err = storage.RecordBoot(d.fs, dir.path)
	}
	if vfs.TooManyFiles(err) {
		return fmt.Errorf("load %s: %w: let the process have more files open", dir.path, err)
	}
	if err != nil {
		d.fail(dir, err)
		return nil
	}
	dir.clean = true
	_, _ = d.room(dir) // where it cannot be told it is as if there was enough
	d.opt.Logger.Info("loaded a log directory", "dir", dir.path, "logs", len(names), "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// prepare reads the checkpoints and puts the boot note in the place of the clean
// marker: from here on a crash counts as one.
func (d loading) prepare(dir *directory) (err error) {
	if dir.clean, _, err = readMarker(d.fs, dir.path); err != nil {
		return err
	}
	if dir.boot, err = storage.ReadBoot(d.fs, dir.path); err != nil {
		return err
	}
	if dir.clean {
		if err := storage.RecordBoot(d.fs, dir.path); err != nil {
			return err
		}
		if err := removeMarker(d.fs, dir.path); err != nil {
			return err
		}
	}
	return dir.checkpoints.read(d.opt.Logger)
}

// found is a partition's folder that was found.
type found struct {
	tp     kafka.TopicPartition
	folder string
	future bool
}

// single keeps one folder of each partition. A directory has checkpoints for one
// log of a partition alone: of future replicas beside it, or beside each other, none is
// needed, as the move that made them begins anew.
func (d loading) single(dir *directory, logs []found) []found {
	slices.SortStableFunc(logs, func(a, b found) int {
		if c := compareTP(a.tp, b.tp); c != 0 || a.future == b.future {
			return c
		} else if b.future {
			return -1
		}
		return 1
	})
	kept := logs[:0]
	for _, f := range logs {
		if n := len(kept); n > 0 && kept[n-1].tp == f.tp {
			path := filepath.Join(dir.path, f.folder)
			d.opt.Logger.Warn("a copy of a partition that is there already is removed", "folder", path)
			dir.doomed = append(dir.doomed, doomed{path: path, at: d.opt.Now()})
			continue
		}
		kept = append(kept, f)
	}
	return kept
}

// scan sorts out the folders of a directory.
func (d loading) scan(dir *directory) (logs []found, fatal, err error) {
	entries, err := d.fs.ReadDir(dir.path)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		path := filepath.Join(dir.path, e.Name())
		switch k, tp := classify(e.Name()); k {
		case plainFolder:
			logs = append(logs, found{tp: tp, folder: e.Name()})
		case deletedFolder:
			dir.doomed = append(dir.doomed, doomed{path: path, at: d.opt.Now()})
		case strayFolder:
			d.opt.Logger.Warn("a partition that was set aside is still there; remove it when it is not needed", "folder", path)
		case futureFolder:
			logs = append(logs, found{tp: tp, folder: e.Name(), future: true})
		case ignoredFolder, metadataFolder:
		default:
			return nil, fmt.Errorf("%s is no partition's folder: move it out of the log directory", path), nil
		}
	}
	return d.single(dir, logs), nil, nil
}

// openAll opens the logs of a directory, several at a time.
func (d loading) openAll(dir *directory, names []found) error {
	return inParallel(max(d.opt.Live.Threads, 1), names, func(f found) error { return d.openFound(dir, f) })
}

// inParallel does something with each of a list, so many at a time, also when
// it fails for some; each worker's first error is told.
func inParallel[T any](workers int, list []T, do func(T) error) error {
	workers = min(workers, len(list))
	next := make(chan T)
	errs := make([]error, workers)
	var working sync.WaitGroup
	for i := range workers {
		working.Go(func() {
			for x := range next {
				if err := do(x); errs[i] == nil {
					errs[i] = err
				}
			}
		})
	}
	for _, x := range list {
		next <- x
	}
	close(next)
	working.Wait()
	return errors.Join(errs...)
}

func (d loading) openFound(dir *directory, f found) error {
	tp := f.tp
	opt := d.logOptions(dir, tp)
	opt.Dir = filepath.Join(dir.path, f.folder)
	opt.Clean, opt.SameBoot, opt.Gapless, opt.Whole = dir.clean, dir.boot.Same, dir.boot.There, dir.returning
	dir.checkpoints.mu.Lock()
	opt.LogStart, opt.RecoveryPoint = dir.checkpoints.starts[tp], dir.checkpoints.recovery[tp]
	opt.Cleaned = dir.checkpoints.cleaned[tp]
	dir.checkpoints.mu.Unlock()
	l, err := storage.Open(opt)
	if err != nil {
		return err
	}
	dir.mu.Lock()
	defer dir.mu.Unlock()
	if f.future {
		dir.futures[tp] = l
	} else {
		dir.put(l)
	}
	return nil
}

func (d *Dirs) logOptions(dir *directory, tp kafka.TopicPartition) storage.Options {
	return storage.Options{
		FS: dir.disk, Dir: filepath.Join(dir.path, folderName(tp)), TP: tp, Config: d.opt.Config,
		Files: d.opt.Files, Now: d.opt.Now, Logger: d.opt.Logger,
		OnError:        func(err error) { d.fail(dir, err) },
		OnWork:         dir.stirred.add,
		BeforeTruncate: func(to kafka.Offset) error { return dir.checkpoints.lower(tp, to) },
		Births:         dir.births,
		Seed:           uint64(d.opt.Now().UnixNano()),
		Metrics:        &d.figures.logs,
	}
}

// abandon closes what was opened, without claiming a clean shutdown.
func (d loading) abandon() {
	for _, dir := range d.directories() {
		dir.births.Close()
		for _, l := range slices.Backward(dir.every()) {
			_ = l.Close(false) // the error that ends the start is the one to tell
		}
	}
	d.work.Wait()
}
