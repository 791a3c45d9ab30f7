package dirs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/ottla/ottla/internal/base/kafka"
	"github.com/ottla/ottla/internal/base/metaprops"
	"github.com/ottla/ottla/internal/base/vfs"
	"github.com/ottla/ottla/internal/edge/storage"
)

// probeFile is written and removed to see whether a disk takes writes.
const probeFile = ".ottla-probe"

// Absent is a directory that is offline.
type Absent struct {
	Path string
	ID   kafka.DirID // zero: it was never read
	Err  error       // why it is offline
	// SyncFailed: what was written to it is unknown, however well it answers now.
	SyncFailed bool
	// Idle: nothing of ours uses it any more.
	Idle bool
}

// Absent are the directories that are offline.
func (d *Dirs) Absent() []Absent {
	var out []Absent
	for _, dir := range d.directories() {
		if err := dir.offline(); err != nil {
			out = append(out, Absent{dir.path, dir.id, err, errors.Is(err, vfs.ErrSync), dir.isRetired()})
		}
	}
	return out
}

// Returning is a directory that was offline and works again. Its logs are open, after
// every record in them was validated, and nobody uses them yet.
type Returning struct {
	dirs *Dirs
	from *directory // the failed one, whose place it takes
	dir  *directory
}

// ID is the directory's id.
func (r *Returning) ID() kafka.DirID { return r.dir.id }

// Logs are those in it, ordered by name.
func (r *Returning) Logs() []LoadedLog {
	out := make([]LoadedLog, 0, len(r.dir.logs))
	for _, l := range r.dir.every() {
		out = append(out, r.dir.loaded(l))
	}
	return out
}

// Short are the logs that end below the high watermark that was checkpointed: they
// have lost records that others may have been told of.
func (r *Returning) Short() []kafka.TopicPartition {
	var short []kafka.TopicPartition
	for _, l := range r.dir.all() {
		if l.End() < r.dir.checkpoints.highWatermark(l.TP()) {
			short = append(short, l.TP())
		}
	}
	return short
}

// Return opens a directory that is offline, if it is the one that it was and its disk
// takes writes. It may take long, and nothing else waits for it. What it gives is to
// be admitted or abandoned. Only one call may be made at a time.
func (d *Dirs) Return(path string) (*Returning, error) {
	if _, err := d.Find(path); err != nil {
		return nil, err
	}
	from := d.at(path)
	id, err := d.identityOf(from)
	if err != nil {
		return nil, err
	}
	if err := d.hasRoom(from); err != nil {
		return nil, err
	}
	if err := d.probe(from.path); err != nil {
		return nil, err
	}
	return d.open(from, id)
}

// open opens the directory with an id that lies where another one was.
func (d *Dirs) open(from *directory, id kafka.DirID) (*Returning, error) {
	if err := d.claimed.take(d.claimed.at(from.path)); err != nil {
		return nil, err
	}
	r := &Returning{dirs: d, from: from, dir: loading{d}.directory(&Directory{Path: from.path, ID: id, Logs: true})}
	r.dir.returning = true
	r.dir.cordoned.Store(from.cordoned.Load())
	if err := r.load(); err != nil {
		r.Abandon()
		return nil, err
	}
	return r, nil
}

func (d *Dirs) at(path string) *directory {
	i := slices.IndexFunc(d.directories(), func(dir *directory) bool { return filepath.Clean(dir.path) == filepath.Clean(path) })
	if i < 0 {
		return nil
	}
	return d.directories()[i]
}

// identityOf tells that what lies at the path of a directory is that directory.
func (d *Dirs) identityOf(from *directory) (kafka.DirID, error) {
	c, name := d.claimed, filepath.Join(from.path, metaprops.FileName)
	p, err := read(d.fs, from.path)
	if errors.Is(err, fs.ErrNotExist) {
		return kafka.DirID{}, fmt.Errorf("%s is %w", from.path, ErrUnformatted)
	}
	if err != nil {
		return kafka.DirID{}, err
	}
	if err := c.fits(c.at(from.path), p, c.node); err != nil {
		return kafka.DirID{}, err
	}
	switch {
	case p.ClusterID != c.ClusterID:
		return kafka.DirID{}, fmt.Errorf("%s says cluster.id %q, but this node's cluster is %q: another disk is mounted there", name, p.ClusterID, c.ClusterID)
	case p.DirID.IsZero():
		return kafka.DirID{}, fmt.Errorf("%s has no directory.id: start the node again, and it gets one", name)
	case !from.id.IsZero() && p.DirID != from.id:
		return kafka.DirID{}, fmt.Errorf("%s says directory.id %s, but %s has failed: another disk is mounted there", name, p.DirID, from.id)
	}
	there, err := vfs.Exists(d.fs, filepath.Join(from.path, folderName(kafka.MetadataPartition)))
	if err == nil && there {
		err = fmt.Errorf("a metadata log lies in %s, but metadata.log.dir is %s: move the folder", from.path, c.Metadata.Path)
	}
	return p.DirID, err
}

// A directory that got full comes back with this much room, or with a hundredth of a
// volume for which that is a lot.
const roomToReturn = 64 << 20

// hasRoom tells whether what made a directory full is gone. Closing its logs has made
// some room, and with no more than that it would fail again at once, and again.
func (d *Dirs) hasRoom(from *directory) error {
	if !errors.Is(from.offline(), vfs.ErrNoSpace) {
		return nil
	}
	total, usable, err := d.fs.Space(from.path)
	if enough := min(roomToReturn, total/100); err == nil && usable < enough {
		return fmt.Errorf("%s is full, %d bytes are free: make room, %d bytes at least", from.path, usable, enough)
	}
	return nil
}

// probe tells whether a directory takes writes.
func (d *Dirs) probe(path string) error {
	name := filepath.Join(path, probeFile)
	if err := vfs.WriteFileAtomic(d.fs, name, []byte("ottla\n")); err != nil {
		_ = d.fs.Remove(name + ".tmp") // what is left of it is in nobody's way
		return fmt.Errorf("write to %s: %w", path, err)
	}
	return d.fs.Remove(name)
}

// load opens the logs. A clean shutdown that is noted there may be from before the
// failure, so the note goes and everything is validated.
func (r *Returning) load() error {
	l := loading{r.dirs}
	names, fatal, err := l.scan(r.dir)
	if err := errors.Join(fatal, err); err != nil {
		return err
	}
	if err := r.forgetClean(); err != nil {
		return err
	}
	if err := r.dir.checkpoints.read(l.opt.Logger); err != nil {
		return err
	}
	r.dir.boot.There = true // gaps above what was synced are losses
	if err := l.openAll(r.dir, names); err != nil {
		return err
	}
	if err := storage.RecordBoot(l.fs, r.dir.path); err != nil {
		return err
	}
	r.dir.clean = true
	_, _ = r.dirs.room(r.dir)
	return r.dir.offline()
}

func (r *Returning) forgetClean() error {
	clean, _, err := readMarker(r.dirs.fs, r.dir.path)
	if err != nil || !clean {
		return err
	}
	return removeMarker(r.dirs.fs, r.dir.path)
}

// Admit puts the directory in the place of the one that failed.
func (r *Returning) Admit() {
	list := slices.Clone(r.dirs.directories())
	for i, dir := range list {
		if dir == r.from {
			list[i] = r.dir
		}
	}
	r.dirs.claimed.at(r.dir.path).ID = r.dir.id
	r.dirs.list.Store(&list)
	r.dirs.opt.Logger.Info("log directory is back", "dir", r.dir.path, "id", r.dir.id, "logs", len(r.dir.logs))
}

// Abandon closes what Return has opened. The directory stays offline.
func (r *Returning) Abandon() {
	r.dir.births.Close()
	for _, l := range r.dir.every() {
		_ = l.Close(false) // it is validated again before it is used
	}
	r.dirs.claimed.giveUp(r.dirs.claimed.at(r.dir.path))
}
