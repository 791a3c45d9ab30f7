package dirs

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/base/config"
	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/kerr"
	"github.com/ottla/ottla/internal/base/metrics"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

// Names of the checkpoints in the root of a log directory.
const (
	RecoveryPointFile = "recovery-point-offset-checkpoint"
	LogStartFile      = "log-start-offset-checkpoint"
	HighWatermarkFile = "replication-offset-checkpoint"
	CleanerFile       = "cleaner-offset-checkpoint"
)

// ErrDirOffline says that the directory of a log has failed. It answers with
// KAFKA_STORAGE_ERROR; the directory stays offline until it comes back (Return), or
// the process restarts.
var ErrDirOffline = kerr.Errorf(kerr.KafkaStorageError, "the log directory is offline")

// Options are what loading the logs of a broker needs.
type Options struct {
	// Config holds for every log until its topic's settings are known.
	Config config.LogConfig
	Files  *storage.Files
	Now    func() time.Time
	Logger *slog.Logger
	// OnFailed is told once of each directory that fails after loading. It is
	// called from a goroutine of its own.
	OnFailed func(id kafka.DirID, path string, err error)
	Every    Intervals
	// Compact is log.cleaner.enable.
	Compact bool
	// HangLimit is how long a write may take before the directory counts as failed;
	// 0 is for ever.
	HangLimit time.Duration
	// Live holds until SetLive.
	Live Live
}

// LoadedLog is a log that was found when the directories were loaded.
type LoadedLog struct {
	Name          kafka.TopicPartition
	Topic         kafka.TopicID // zero: the folder does not say
	Dir           kafka.DirID
	Future        bool // the copy of a move that was not finished
	Log           *storage.Log
	HighWatermark kafka.Offset // as checkpointed, within the log
}

// Dirs are the log directories of a broker. Its methods may be called from many
// goroutines.
type Dirs struct {
	opt     Options
	fs      vfs.FS
	claimed *Claimed
	list    atomic.Pointer[[]*directory] // in the order of log.dirs; replaced whole
	loaded  atomic.Bool                  // from here on a failure is told
	figures figures
	live    live

	work    sync.WaitGroup // goroutines of Run and of callbacks
	closing sync.Once
	grace   time.Duration // how long a stop waits for a disk that hangs
	watched chan struct{} // closed to end the watch over the disks
}

// directories are those of log.dirs, in that order. One that comes back after a
// failure is another one from then on.
func (d *Dirs) directories() []*directory {
	if list := d.list.Load(); list != nil {
		return *list
	}
	return nil
}

// directory is one log directory and the logs in it, until it fails.
type directory struct {
	path  string
	id    kafka.DirID
	disk  metered
	clean bool // the marker of a clean shutdown was there, or loading has finished
	boot  storage.BootNote

	cordoned atomic.Bool // it takes no new replicas
	scarce   atomic.Bool // its volume had little room left at the last look
	// returning: it has failed since the process started, and nothing in it is
	// trusted.
	returning bool
	fell      chan struct{} // closed when it has failed
	retired   chan struct{} // closed when it has failed and nothing of ours uses it any more
	prober    prober

	mu   sync.Mutex
	err  error // why it is offline
	logs map[kafka.TopicPartition]*storage.Log
	// futures are copies that are being moved here from other directories.
	futures map[kafka.TopicPartition]*storage.Log
	sorted  []*storage.Log // all logs by name, replaced and not changed; nil: to be made
	doomed  []doomed       // folders that wait for their removal

	stirred stirred
	births  *storage.Births
	// The rounds at which checkpoints were written last; used by upkeep alone.
	recovered, started uint64

	checkpoints checkpoints
	uncleanable map[*storage.Log]bool // guarded by cleaning.choosing
	unreadable  metrics.Level         // how many those are
}

type doomed struct {
	path string
	at   time.Time
	// log is still read by those who began before it was doomed; nil: by nobody.
	log *storage.Log
}

func (d *directory) offline() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// all gives the logs of a directory that works, ordered by name. The list may not
// be changed.
func (d *directory) all() []*storage.Log {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return nil
	}
	if d.sorted == nil {
		d.sorted = slices.SortedFunc(maps.Values(d.logs), func(a, b *storage.Log) int { return compareTP(a.TP(), b.TP()) })
	}
	return d.sorted
}

// put enters a log. mu is held.
func (d *directory) put(l *storage.Log) {
	d.logs[l.TP()], d.sorted = l, nil
}

// take takes a log out, unless another one has its name by now. mu is held.
func (d *directory) take(l *storage.Log) {
	if d.logs[l.TP()] == l {
		delete(d.logs, l.TP())
		d.sorted = nil
	}
	if d.futures[l.TP()] == l {
		delete(d.futures, l.TP())
	}
}

// every gives all logs of a directory that works, and then the future replicas.
func (d *directory) every() []*storage.Log {
	logs := d.all()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil || len(d.futures) == 0 {
		return logs
	}
	return append(slices.Clone(logs), slices.SortedFunc(maps.Values(d.futures), func(a, b *storage.Log) int { return compareTP(a.TP(), b.TP()) })...)
}

func compareTP(a, b kafka.TopicPartition) int {
	return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// future tells whether a log is the copy of a move into the directory.
func (d *directory) future(l *storage.Log) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.futures[l.TP()] == l
}

// Loaded gives the logs that were found, ordered by name. A partition may be there
// more than once: which copy counts, metadata says.
func (d *Dirs) Loaded() []LoadedLog {
	var out []LoadedLog
	for _, dir := range d.directories() {
		for _, l := range dir.every() {
			out = append(out, dir.loaded(l))
		}
	}
	slices.SortFunc(out, func(a, b LoadedLog) int { return compareTP(a.Name, b.Name) })
	return out
}

func (d *directory) loaded(l *storage.Log) LoadedLog {
	return LoadedLog{
		Name: l.TP(), Topic: l.TopicID(), Dir: d.id, Log: l, Future: d.future(l),
		HighWatermark: max(min(d.checkpoints.highWatermark(l.TP()), l.End()), l.Start()),
	}
}

// Online tells whether a directory is one of ours and works.
func (d *Dirs) Online(id kafka.DirID) bool {
	dir := d.byID(id)
	return dir != nil && dir.offline() == nil
}

// AnyOffline tells whether a configured directory does not work.
func (d *Dirs) AnyOffline() bool {
	return slices.ContainsFunc(d.directories(), func(dir *directory) bool { return dir.offline() != nil })
}

// Several tells whether more than one directory is configured.
func (d *Dirs) Several() bool { return len(d.directories()) > 1 }

// OnlineIDs are the ids of the directories that work, ordered as registrations
// have them.
func (d *Dirs) OnlineIDs() []kafka.DirID {
	var ids []kafka.DirID
	for _, dir := range d.directories() {
		if dir.offline() == nil {
			ids = append(ids, dir.id)
		}
	}
	slices.SortFunc(ids, kafka.UUID.Compare)
	return ids
}

func (d *Dirs) byID(id kafka.DirID) *directory {
	for _, dir := range d.directories() {
		if dir.id == id && !id.IsZero() {
			return dir
		}
	}
	return nil
}

// holder is the directory that a log lies in.
func (d *Dirs) holder(l *storage.Log) *directory {
	root := filepath.Dir(l.Dir())
	for _, dir := range d.directories() {
		if filepath.Clean(dir.path) == root {
			return dir
		}
	}
	return nil
}

// failOrWait takes a directory offline for an error of its disk. Too many open
// files are none: what could not be done is done when its turn comes again.
func (d *Dirs) failOrWait(dir *directory, err error) {
	if vfs.TooManyFiles(err) {
		d.opt.Logger.Warn("work on a log directory has to wait for open files", "dir", dir.path, "error", err)
		return
	}
	d.fail(dir, err)
}

// Fail takes the directory with a path offline, if it is one of log.dirs, after
// the disk has failed somebody else who uses it. OnFailed is told as always.
func (d *Dirs) Fail(path string, err error) {
	for _, dir := range d.directories() {
		if filepath.Clean(dir.path) == filepath.Clean(path) {
			d.fail(dir, err)
		}
	}
}

// fail takes a directory offline, once: all its logs refuse to change, and who
// registered is told, from a goroutine. Before it returns, and with it the log
// that was just writing, the boot note is gone: what was not synced is unknown
// from here on, so the next start must not take it for whole.
func (d *Dirs) fail(dir *directory, err error) {
	dir.mu.Lock()
	first := dir.err == nil
	if first {
		dir.err = fmt.Errorf("log directory %s failed: %w", dir.path, err)
		close(dir.fell)
	}
	logs := slices.AppendSeq(slices.Collect(maps.Values(dir.logs)), maps.Values(dir.futures))
	failed := dir.err
	dir.mu.Unlock()
	if !first {
		return
	}
	for _, l := range logs {
		l.Fail(failed)
	}
	d.opt.Logger.Error("log directory is offline", "dir", dir.path, "id", dir.id, "error", err)
	if d.opt.OnFailed != nil && d.loaded.Load() {
		d.work.Go(func() { d.opt.OnFailed(dir.id, dir.path, failed) })
	}
	if errors.Is(err, ErrHung) {
		go d.forgetBoot(dir) // when it answers, if ever
	} else {
		d.forgetBoot(dir)
	}
	if d.loaded.Load() {
		go d.retire(dir)
	}
}

func (d *Dirs) forgetBoot(dir *directory) {
	if err := storage.ForgetBoot(d.fs, dir.path); err != nil {
		// A file system that takes no change is of use only when it is mounted
		// anew, and then the note is void.
		d.opt.Logger.Debug("boot note stays", "dir", dir.path, "error", err)
	}
}

// Info describes a directory for DescribeLogDirs and for people.
type Info struct {
	Path string
	ID   kafka.DirID
	Err  error // why it is offline, or nil
	// Total and Usable are the bytes of its volume; -1 when they are not known.
	Total, Usable int64
	Cordoned      bool // it takes no new replicas
	Logs          []*storage.Log
}

// Named is a directory's path, and its id, which is zero when it was never read.
type Named struct {
	Path string
	ID   kafka.DirID
}

// Names are the directories, in the order of log.dirs.
func (d *Dirs) Names() []Named {
	var out []Named
	for _, dir := range d.directories() {
		out = append(out, Named{dir.path, dir.id})
	}
	return out
}

// Describe tells about every directory, in the order of log.dirs.
func (d *Dirs) Describe() []Info {
	out := make([]Info, len(d.directories()))
	for i, dir := range d.directories() {
		out[i] = Info{Path: dir.path, ID: dir.id, Err: dir.offline(), Total: -1, Usable: -1, Cordoned: dir.cordoned.Load()}
		if out[i].Err != nil {
			continue
		}
		out[i].Logs = dir.all()
		if total, usable, err := d.fs.Space(dir.path); err == nil {
			out[i].Total, out[i].Usable = total, usable
		}
	}
	return out
}
